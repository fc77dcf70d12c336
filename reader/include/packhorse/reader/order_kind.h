#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace packhorse::reader {

enum class OrderKind : std::uint8_t {
  kGlobal,       ///< every sample may come anywhere: for storage that is good at random reads
  kWindow,       ///< large pieces in random order, mixed within a window: for the others
  kWindowFirst,  ///< epoch 0 as kWindow, the others as kGlobal: for what is kept as it first comes
  kSequential,   ///< in stored order
};

/// Their names, in that order: "global", "window", "window-first", "sequential".
std::span<const std::string_view> order_names();
std::string_view name_of(OrderKind kind);
/// Throws Error(kUsage).
OrderKind parse_order(std::string_view name);
/// The order of one epoch: never kWindowFirst.
OrderKind order_in(OrderKind kind, std::uint64_t epoch);

/// What becomes of the samples that do not fill a last batch.
enum class Tail {
  kDrop,  ///< the last, incomplete global batch is left out
  kPad,   ///< the last batch is filled with samples from the start of the epoch's order
  kKeep,  ///< the last batch is delivered short; only for one rank (evaluation)
};

/// How well an order mixes, compared with drawing every batch from the whole dataset.
struct ShuffleQuality {
  /// How often two samples that are stored side by side share a batch, relative to a global
  /// shuffle: 1 for a global shuffle, about n / batch for none.
  double neighbours = 0;
  /// Different classes in a batch, relative to a global shuffle; 1 is as good.
  double classes = 0;
};

}  // namespace packhorse::reader
