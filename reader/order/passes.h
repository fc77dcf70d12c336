#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/permutation.h"
#include "order/runs.h"
#include "packhorse/reader/order_kind.h"

namespace packhorse::reader {

/// A sample at a position of an epoch.
struct Draw {
  std::uint64_t sample = 0;
  /// Different each time that the epoch has this sample; 0 where it has each sample once.
  std::uint64_t occurrence = 0;
  bool operator==(const Draw&) const = default;
};

/// The windows that an epoch is to be read by.
struct Windows {
  std::shared_ptr<const Runs> runs;
  std::size_t runs_each = 16;
};

/// Samples `first` to `first + count - 1`, again and again: each pass has all of them once, in an
/// order of its own. Value type; thread-safe.
class Passes {
 public:
  Passes(std::uint64_t first, std::uint64_t count, std::uint64_t key, bool shuffled = true);
  /// By windows, of which those of the first `draws` draws are prepared.
  Passes(std::uint64_t first, std::uint64_t count, std::uint64_t key, const Windows& windows,
         std::uint64_t draws);

  /// The number of a pass is the occurrence.
  Draw at(std::uint64_t number) const;
  /// By windows: the first number after those that share the window of `number`.
  std::optional<std::uint64_t> window_end(std::uint64_t number) const;

 private:
  std::uint64_t key_of(std::uint64_t pass) const;

  std::uint64_t first_, count_, key_;
  bool shuffled_;
  Permutation permutation_;  ///< of the first pass
  std::vector<WindowOrder> windows_;
};

}  // namespace packhorse::reader
