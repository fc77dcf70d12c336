#include "packhorse/analysis/duplicates.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

#include "analysis/stored_pixels.h"
#include "base/external_sort.h"
#include "base/parallel.h"
#include "base/resources.h"
#include "base/stop.h"
#include "codecs/perceptual_hash.h"
#include "dataset/shard_index.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

/// Groups linked items. Merging keeps the lower number as the root.
class Sets {
 public:
  explicit Sets(std::size_t n) : parents_(n) {
    std::iota(parents_.begin(), parents_.end(), std::uint32_t{0});
  }
  std::uint32_t root(std::uint32_t i) {
    while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
    return i;
  }
  void merge(std::uint32_t a, std::uint32_t b) {
    a = root(a);
    b = root(b);
    parents_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::uint32_t> parents_;
};

class Search {
 public:
  Search(std::span<const PackedDataset* const> datasets, const DuplicateSearch& search,
         Progress& progress)
      : datasets_(datasets), search_(search), progress_(progress) {
    for (const PackedDataset* dataset : datasets) {
      begins_.push_back(size_);
      size_ += dataset->size();
    }
    if (size_ >= ~std::uint32_t{0} && !search.identical_only)
      throw Error(ErrorKind::kUnsupported,
                  "more than 4 billion samples cannot be compared to the eye at once", {},
                  "compare their bytes alone, or split by split");
  }

  DuplicateReport run() {
    DuplicateReport report;
    report.samples = size_;
    if (search_.identical_only) {
      collect_identical(report);
      return report;
    }
    Sets sets(size_);
    identical_to_.resize(size_);
    std::iota(identical_to_.begin(), identical_to_.end(), std::uint32_t{0});
    for_each_identical([&](std::uint64_t first, std::uint64_t item) {
      identical_to_[item] = static_cast<std::uint32_t>(first);
      sets.merge(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(item));
    });
    hash_all();
    report.featureless = static_cast<std::uint64_t>(std::ranges::count(has_hash_, 0));
    link_near(sets);
    collect(sets, report);
    return report;
  }

 private:
  struct At {
    std::size_t dataset, sample;
  };
  At at(std::size_t item) const {
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), item);
    const auto dataset = static_cast<std::size_t>(after - begins_.begin()) - 1;
    return {dataset, item - begins_[dataset]};
  }

  int jobs() const { return search_.jobs > 0 ? search_.jobs : available_cpus(); }

  std::vector<std::byte> bytes_of(std::size_t item) const {
    std::vector<std::byte> bytes;
    const At place = at(item);
    datasets_[place.dataset]->read(place.sample, bytes);
    return bytes;
  }

  struct Content {
    std::uint64_t hash, length, item;
    auto operator<=>(const Content&) const = default;
  };

  /// Calls visit(first, item) for items that are identical to an earlier one, the first of them, by
  /// the indexes and then byte by byte: 64 bits of hash alone would be no proof.
  template <class Visit>
  void for_each_identical(const Visit& visit) const {
    ExternalSort<Content> all(search_.memory, {}, "the hashes of images");
    for (const PackedDataset* dataset : datasets_) {
      for (std::size_t shard = 0; shard < dataset->shards(); ++shard) {
        const auto held = dataset->index(shard);
        for (std::size_t row = 0; row < held->size(); ++row)
          all.add({held->hash(row), held->range(row).length, all.size()});
      }
    }
    Content first{}, one{};
    std::vector<std::byte> bytes;  // of the first, once another may be like it
    auto sorted = all.sorted();
    for (bool more = sorted.next(first); more && sorted.next(one);) {
      if (one.hash != first.hash || one.length != first.length) {
        first = one;
        bytes.clear();
        continue;
      }
      obey_stop();
      if (bytes.empty()) bytes = bytes_of(first.item);
      if (bytes_of(one.item) == bytes) visit(first.item, one.item);
    }
  }

  /// Items of a set are visited one after the other.
  void collect_identical(DuplicateReport& report) const {
    std::uint64_t last = ~std::uint64_t{0};
    for_each_identical([&](std::uint64_t first, std::uint64_t item) {
      if (first != last) {
        report.sets.emplace_back();
        add_member(report.sets.back(), first, first);
      }
      last = first;
      add_member(report.sets.back(), first, item);
    });
    std::ranges::sort(report.sets, [](const DuplicateSet& a, const DuplicateSet& b) {
      const auto place = [](const DuplicateSet& set) {
        return std::pair(set.members.front().dataset, set.members.front().sample);
      };
      return place(a) < place(b);
    });
  }

  void hash_all() {
    hashes_.resize(size_);
    has_hash_.resize(size_);
    progress_.total_samples = size_;
    run_batches(jobs(), size_, 64, [&](std::size_t begin, std::size_t end) {
      std::vector<std::byte> bytes;
      for (std::size_t item = begin; item < end; ++item) {
        obey_stop();
        ++progress_.samples;
        if (identical_to_[item] != item) continue;  // its first copy is hashed
        const At place = at(item);
        const PackedDataset& dataset = *datasets_[place.dataset];
        decode_stored(dataset, place.sample, bytes, kThumbnailSide, search_.limits,
                      [&](ColourRows& rows, const ImageInfo& image) {
                        const auto hash = perceptual_hash(rows, image);
                        has_hash_[item] = hash ? 1 : 0;
                        hashes_[item] = hash.value_or(0);
                      });
        progress_.bytes += bytes.size();
      }
    });
    for (std::size_t item = 0; item < size_; ++item) {
      hashes_[item] = hashes_[identical_to_[item]];
      has_hash_[item] = has_hash_[identical_to_[item]];
    }
  }

  void link_near(Sets& sets) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t item = 0; item < size_; ++item) {
      if (has_hash_[item] != 0) order.push_back(item);
    }
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
      return std::tie(hashes_[a], a) < std::tie(hashes_[b], b);
    });
    std::vector<std::uint64_t> different;
    std::vector<std::uint32_t> item_of;  // the first item with each hash
    for (const std::uint32_t item : order) {
      if (!different.empty() && different.back() == hashes_[item]) {
        sets.merge(item_of.back(), item);
      } else {
        different.push_back(hashes_[item]);
        item_of.push_back(item);
      }
    }
    for (const auto& [i, j] : near_pairs(different, search_.max_distance, jobs()))
      sets.merge(item_of[i], item_of[j]);
  }

  std::string_view class_of(const At& place) const {
    const PackedDataset& dataset = *datasets_[place.dataset];
    const PackedDataset::Place in = dataset.place(place.sample);
    const auto label = static_cast<std::size_t>(dataset.index(in.shard)->label(in.row));
    return label < dataset.classes().size() ? dataset.classes()[label] : std::string_view();
  }

  void collect(Sets& sets, DuplicateReport& report) const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> members;  // (root, item)
    for (std::uint32_t item = 0; item < size_; ++item) {
      const std::uint32_t root = sets.root(item);
      if (root != item) members.emplace_back(root, item);
    }
    std::ranges::sort(members);
    for (std::size_t begin = 0, end = 0; begin < members.size(); begin = end) {
      const std::uint32_t first = members[begin].first;
      DuplicateSet& set = report.sets.emplace_back();
      add_member(set, first, first);
      for (end = begin; end < members.size() && members[end].first == first; ++end)
        add_member(set, first, members[end].second);
    }
  }

  void add_member(DuplicateSet& set, std::uint64_t first, std::uint64_t item) const {
    const At place = at(item), origin = at(first);
    const bool identical = search_.identical_only || identical_to_[item] == identical_to_[first];
    const bool hashed = !hashes_.empty();
    set.members.push_back({place.dataset, place.sample,
                           hashed ? std::popcount(hashes_[item] ^ hashes_[first]) : 0, identical});
    set.identical = set.identical && identical;
    set.across_datasets = set.across_datasets || place.dataset != origin.dataset;
    set.across_classes = set.across_classes || class_of(place) != class_of(origin);
  }

  std::span<const PackedDataset* const> datasets_;
  const DuplicateSearch& search_;
  Progress& progress_;
  std::vector<std::size_t> begins_;  ///< the first item of each dataset
  std::size_t size_ = 0;
  std::vector<std::uint32_t> identical_to_;  ///< the first item with the same bytes
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint8_t> has_hash_;
};

}  // namespace

DuplicateReport find_duplicates(std::span<const PackedDataset* const> datasets,
                                const DuplicateSearch& search, Progress* progress,
                                std::stop_token stop) {
  const StopScope scope(stop);
  if (search.max_distance < 0 || search.max_distance > kMostDistance) {
    throw Error(ErrorKind::kUsage,
                "the distance must be from 0 to " + std::to_string(kMostDistance));
  }
  Progress unseen;
  return Search(datasets, search, progress != nullptr ? *progress : unseen).run();
}

}  // namespace packhorse
