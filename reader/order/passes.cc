#include "order/passes.h"

namespace packhorse::reader {

namespace {

constexpr std::uint64_t kPassSalt = 0x70617373;  // "pass"

}  // namespace

Passes::Passes(std::uint64_t first, std::uint64_t count, std::uint64_t key, bool shuffled)
    : first_(first), count_(count), key_(key), shuffled_(shuffled), permutation_(count, key) {}

Passes::Passes(std::uint64_t first, std::uint64_t count, std::uint64_t key, const Windows& windows,
               std::uint64_t draws)
    : Passes(first, count, key) {
  if (count == 0) return;
  for (std::uint64_t pass = 0; pass == 0 || pass * count < draws; ++pass)
    windows_.emplace_back(windows.runs, windows.runs_each, key_of(pass),
                          WindowOrder::Samples{first, first + count});
}

/// The first pass is the order that an epoch of one pass has.
std::uint64_t Passes::key_of(std::uint64_t pass) const {
  return pass == 0 ? key_ : mix64(mix64(key_ ^ kPassSalt) + pass);
}

Draw Passes::at(std::uint64_t number) const {
  const std::uint64_t pass = number < count_ ? 0 : number / count_;
  const std::uint64_t place = number - pass * count_;
  if (!windows_.empty()) return {windows_[pass].sample(place), pass};
  if (!shuffled_) return {first_ + place, pass};
  return {first_ + (pass == 0 ? permutation_(place) : Permutation(count_, key_of(pass))(place)),
          pass};
}

std::optional<std::uint64_t> Passes::window_end(std::uint64_t number) const {
  if (windows_.empty()) return std::nullopt;
  const std::uint64_t pass = number / count_;
  return pass * count_ + windows_[pass].window_end(number % count_);
}

}  // namespace packhorse::reader
