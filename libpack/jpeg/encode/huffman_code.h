#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

/// The best Huffman code for the symbols counted.
namespace packhorse::encode {

struct HuffmanTable {
  std::array<std::uint8_t, 17> lengths{};  ///< [n]: how many codes of n bits, 1 to 16
  std::vector<std::uint8_t> symbols;       ///< by increasing code, as DHT lists them
  std::array<std::uint16_t, 256> code{};   ///< by symbol
  std::array<std::uint8_t, 256> bits{};    ///< by symbol; 0: the symbol does not occur
};

/// The longest code that JPEG allows.
inline constexpr std::size_t kMaxCodeBits = 16;

/// Optimal within two limits: at most `max_bits`, and no code of ones only (T.81 K.2, with the tree
/// built by merging two sorted queues). Something must have been counted, and there must be more
/// than twice as many codes of `max_bits` as symbols. The same counts always give the same table.
HuffmanTable optimal_table(std::span<const std::uint32_t, 256> counts,
                           std::size_t max_bits = kMaxCodeBits);

}  // namespace packhorse::encode
