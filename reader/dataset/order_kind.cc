#include "packhorse/reader/order_kind.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/choices.h"
#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

constexpr std::array<std::string_view, 4> kNames = {"global", "window", "window-first",
                                                    "sequential"};

}  // namespace

std::span<const std::string_view> order_names() { return kNames; }

std::string_view name_of(OrderKind kind) { return kNames.at(static_cast<std::size_t>(kind)); }

OrderKind parse_order(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found != kNames.end()) return static_cast<OrderKind>(found - kNames.begin());
  throw Error(ErrorKind::kUsage, "there is no order '" + std::string(name) + "'", {},
              choice_advice(std::string(name), {kNames.begin(), kNames.end()}));
}

OrderKind order_in(OrderKind kind, std::uint64_t epoch) {
  if (kind != OrderKind::kWindowFirst) return kind;
  return epoch == 0 ? OrderKind::kWindow : OrderKind::kGlobal;
}

}  // namespace packhorse::reader
