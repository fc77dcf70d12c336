#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "packhorse/base/progress.h"
#include "packhorse/sources/source.h"

namespace packhorse {

/// Entry `entry` of the split that was added as number `split`.
struct ContentPlace {
  std::size_t split;
  std::size_t entry;
};

/// Hashes of the inputs' bytes, taken before anything is planned. 16 bytes an input. An input that
/// cannot be read has none; packing will say why.
class Contents {
 public:
  enum class Which { kAll, kEqualSizes };

  /// All arguments must outlive this.
  Contents(const Source& source, int jobs, Progress& progress, std::stop_token stop)
      : source_(source), jobs_(jobs), progress_(progress), stop_(std::move(stop)) {}

  /// Adds a split; `wanted` says which of its entries count.
  void add(const SplitListing& split, const std::function<bool(std::size_t)>& wanted);
  /// Reads and hashes in parallel. kEqualSizes: only inputs that share their size with another,
  /// since only these can have duplicates. Throws Error(kInterrupted).
  void hash_all(Which which);

  std::optional<std::uint64_t> hash(ContentPlace place) const;
  /// Groups of two or more inputs with the same bytes, each compared byte by byte with the first.
  std::vector<std::vector<ContentPlace>> identical() const;

 private:
  using Hash = std::array<std::uint64_t, 2>;
  struct Split {
    const SplitListing& listing;
    std::vector<bool> wanted;
    std::vector<Hash> hashes;  ///< {0, 0}: none
  };
  void hash_one(ContentPlace place);
  bool same_bytes(ContentPlace a, ContentPlace b) const;

  const Source& source_;
  int jobs_;
  Progress& progress_;
  std::stop_token stop_;
  std::vector<Split> splits_;
};

}  // namespace packhorse
