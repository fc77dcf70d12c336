#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace packhorse::reader {

enum class OrderKind : std::uint8_t {
  kGlobal,       ///< every sample may come anywhere: for storage that is good at random reads
  kWindow,       ///< large pieces in random order, mixed within a window (WindowOrder): for other
                 ///< storage
  kWindowFirst,  ///< epoch 0 as kWindow, the others as kGlobal: for remote data with a cache
  kSequential,   ///< in stored order
};

/// Their names, in that order: "global", "window", "window-first", "sequential".
std::span<const std::string_view> order_names();
std::string_view name_of(OrderKind kind);
/// Throws Error(kUsage).
OrderKind parse_order(std::string_view name);
/// The order of one epoch: never kWindowFirst.
OrderKind order_in(OrderKind kind, std::uint64_t epoch);

}  // namespace packhorse::reader
