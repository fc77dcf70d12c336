#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "base/external_sort.h"
#include "packhorse/base/progress.h"
#include "sources/source.h"

namespace packhorse {

/// Entry `entry` of the split that was added as number `split`.
struct ContentPlace {
  std::uint64_t split;
  std::uint64_t entry;
  auto operator<=>(const ContentPlace&) const = default;
};

/// Hashes of the inputs' bytes, taken before anything is planned. An input that cannot be read has
/// none; packing will say why. Memory: a bit an input, and a part of what EntryMemory says; the
/// rest goes to temporary files.
class Contents {
 public:
  /// What is done with the hashes.
  struct Use {
    bool identical = false;  ///< identical() is called
    bool each = false;       ///< for_each() is
  };

  /// All arguments must outlive this. `memory` as ListOptions has it.
  Contents(const Source& source, int jobs, Use use, const EntryMemory* memory, Progress& progress);

  /// Adds a split; `wanted` says which of its entries count.
  void add(const SplitListing& split, const std::function<bool(std::size_t)>& wanted);
  /// Reads and hashes in parallel; where only identical() is called, only inputs that share their
  /// size with another, since only these can have duplicates. Throws Error(kInterrupted).
  void hash_all();

  /// Calls visit(place, hash) for all inputs that have a hash, in order. Once.
  void for_each(const std::function<void(ContentPlace, std::uint64_t)>& visit);
  /// Groups of two or more inputs with the same bytes, each compared byte by byte with the first.
  /// Once.
  std::vector<std::vector<ContentPlace>> identical();

 private:
  struct Split {
    const SplitListing& listing;
    std::vector<bool> wanted;
  };
  struct Size {
    std::uint64_t bytes;
    ContentPlace place;
    auto operator<=>(const Size&) const = default;
  };
  struct ByPlace {
    ContentPlace place;
    std::uint64_t hash;
    auto operator<=>(const ByPlace&) const = default;
  };
  struct ByHash {
    std::uint64_t low, high;
    ContentPlace place;
    auto operator<=>(const ByHash&) const = default;
  };

  void want_equal_sizes();
  void hash_batch(std::size_t split, std::size_t begin, std::size_t end);
  bool same_bytes(ContentPlace a, ContentPlace b) const;
  template <class T>
  ExternalSort<T> sort() const {
    return ExternalSort<T>(memory_, scratch_, "the hashes of inputs");
  }

  const Source& source_;
  const int jobs_;
  const Use use_;
  const std::uint64_t memory_;
  const std::filesystem::path scratch_;
  Progress& progress_;
  std::vector<Split> splits_;
  std::mutex mutex_;  ///< guards what follows, while there are threads
  ExternalSort<ByPlace> by_place_;
  ExternalSort<ByHash> by_hash_;
};

}  // namespace packhorse
