#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "jpeg/encode/frame_header.h"
#include "jpeg/encode/huffman_code.h"
#include "packhorse/base/bytes.h"

/// The entropy coder of baseline JPEG.
namespace packhorse::encode {

/// Memory that only grows and is not cleared.
template <class T>
class Scratch {
 public:
  T* data() { return memory_.get(); }
  /// Room for at least `size` elements; the first `keep` stay what they are.
  T* reserve(std::size_t size, std::size_t keep = 0) {
    if (size > capacity_) {
      const std::size_t capacity = std::max(size, keep * 2);
      auto larger = std::make_unique_for_overwrite<T[]>(capacity);
      std::copy_n(memory_.get(), keep, larger.get());
      memory_ = std::move(larger);
      capacity_ = capacity;
    }
    return memory_.get();
  }

 private:
  std::unique_ptr<T[]> memory_;
  std::size_t capacity_ = 0;
};

/// Quantised coefficients, row by row.
using Block = std::int16_t[kBlock];

/// Turns blocks into the entropy-coded bytes of one interleaved baseline scan, with Huffman tables
/// made for it. Blocks become symbols once, which are counted on the way; the second pass only
/// looks up codes. (libjpeg's optimize_coding walks all coefficients twice, which takes three times
/// as long.) Memory: 4 bytes per symbol, kept for the next picture. One thread.
///
///     coder.start(frame);
///     for each MCU row: coder.add_mcu_row(rows);
///     coder.finish();       // then dc(), ac(), data(), row_offsets()
class ScanCoder {
 public:
  /// [component][row of blocks within the MCU row]; null where the picture has no such row.
  using BlockRows = std::array<std::array<const Block*, 4>, kMaxComponents>;

  /// `frame` must live until finish(). `max_code_bits`: as in optimal_table().
  void start(const Frame& frame, std::size_t max_code_bits = kMaxCodeBits);
  /// Throws Error(kCorrupt) for a coefficient beyond what 8-bit samples can give.
  void add_mcu_row(const BlockRows& rows);
  /// The same for blocks in scan order, MCU after MCU, with restart markers or without.
  void add_mcu_row(const Block* blocks);
  void finish();

  /// Components 0 and 3 use table 0, the others 1.
  static std::size_t table_of(std::size_t component) { return component % 3 == 0 ? 0 : 1; }
  const HuffmanTable& dc(std::size_t table) const { return dc_[table]; }
  const HuffmanTable& ac(std::size_t table) const { return ac_[table]; }
  Bytes data() const { return data_; }
  /// Where each MCU row begins in data(), followed by the size of data().
  const std::vector<std::uint32_t>& row_offsets() const { return row_offsets_; }

 private:
  struct Emitter;
  using Token = std::uint32_t;
  using Counts = std::array<std::uint32_t, 256>;

  template <class BlockAt>
  void add_row(const BlockAt& block_at);
  Token* add_block(const Block& block, std::size_t component, Token* out);
  Token* add_dc(int difference, std::size_t table, Token* out);
  void close_segment(const Token* end);
  std::size_t data_bound() const;

  const Frame* frame_ = nullptr;
  std::size_t max_code_bits_ = kMaxCodeBits;
  std::array<std::uint32_t, kMaxComponents> wide_{}, high_{};  ///< the picture's size, in blocks
  std::uint32_t mcu_row_ = 0;                                  ///< the next one
  std::array<int, kMaxComponents> previous_dc_{};
  std::array<Counts, 4> counts_{};  ///< DC 0, DC 1, AC 0, AC 1
  Scratch<Token> tokens_;
  std::size_t token_count_ = 0;
  std::vector<std::size_t> segment_ends_;  ///< in tokens
  std::array<HuffmanTable, 2> dc_, ac_;
  Scratch<std::uint8_t> memory_;
  Bytes data_;
  std::vector<std::uint32_t> row_offsets_;
};

}  // namespace packhorse::encode
