#include "adopting/merge_shards.h"

#include <algorithm>
#include <optional>

#include "base/hash.h"
#include "base/option.h"
#include "base/printable.h"
#include "base/stop.h"
#include "dataset/shard_index.h"
#include "labels/label_file.h"
#include "labels/shard_labels.h"
#include "listing/field_names.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/sample.h"

namespace packhorse {

namespace {

constexpr std::size_t kLongestName = 200;  // of a file name, with room for its extension

/// Compares 64-bit hashes of keys. If two different keys share a hash, keys are qualified
/// needlessly.
bool keys_repeat(const std::vector<ScannedShard>& scanned) {
  if (scanned.size() == 1) return false;
  std::vector<std::uint64_t> hashes;
  for (const ScannedShard& shard : scanned) {
    for (std::size_t row = 0; row < shard.rows.size(); ++row)
      hashes.push_back(xxh3(as_bytes(shard.key(row))));
    obey_stop();
  }
  std::ranges::sort(hashes);
  return std::ranges::adjacent_find(hashes) != hashes.end();
}

class Merging {
 public:
  Merging(const NamedShards& named, const std::vector<ScannedShard>& scanned,
          const AdoptOptions& options, std::vector<Reject>& rejects)
      : named_(named), scanned_(scanned), options_(options), rejects_(rejects) {}

  MergedShards run() {
    choose_fields();
    merged_.qualified_keys = keys_repeat(scanned_);
    if (merged_.qualified_keys)
      merged_.notes.emplace_back(
          "keys repeat across shards, so each is prefixed with its shard's name");
    for (const ScannedShard& shard : scanned_) merged_.labels.emplace_back(shard.rows.size(), -1);
    if (!options_.labels.empty()) {
      label_by_file();
    } else {
      label_by_shards();
    }
    std::uint64_t sample = 0;
    for (const std::vector<std::int32_t>& labels : merged_.labels) {
      merged_.first_samples.push_back(sample);
      sample += static_cast<std::uint64_t>(
          std::ranges::count_if(labels, [](std::int32_t label) { return label >= 0; }));
    }
    return std::move(merged_);
  }

 private:
  void choose_fields() {
    std::vector<std::string> all;
    for (const ScannedShard& shard : scanned_)
      all.insert(all.end(), shard.fields.begin(), shard.fields.end());
    const std::filesystem::path& where = named_.shards.front().entry;
    const auto& names = options_.shards.fields.names;
    merged_.fields = names ? wanted_fields(*names, all, where) : sorted_fields(all, where);
  }

  std::string key(std::size_t shard, std::size_t row) const {
    const std::string own(scanned_[shard].key(row));
    return merged_.qualified_keys ? named_.shards[shard].name() + '/' + own : own;
  }

  template <class Visit>
  void for_each_row(const Visit& visit) {
    for (std::size_t shard = 0; shard < scanned_.size(); ++shard) {
      for (std::size_t row = 0; row < scanned_[shard].rows.size(); ++row) {
        obey_stop();
        visit(shard, row);
      }
    }
  }

  void reject(std::size_t shard, std::size_t row, Problem problem) {
    ++merged_.rejected;
    rejects_.push_back({named_.shards[shard].name() + '/' + printable(scanned_[shard].key(row)),
                        std::move(problem)});
  }

  void label_by_file() {
    merged_.labels_from = Adoption::kFromFile;
    LabelFile file(options_.labels, options_.classes);
    merged_.classes = file.classes();
    merged_.notes.push_back(file.note());
    for_each_row([&](std::size_t shard, std::size_t row) { file.mark(key(shard, row)); });
    file.note_unused(merged_.notes, "sample of the shards");
    for_each_row([&](std::size_t shard, std::size_t row) {
      Problem problem;
      if (const auto label = file.take(key(shard, row), problem)) {
        merged_.labels[shard][row] = static_cast<std::int32_t>(*label);
      } else {
        reject(shard, row, problem);
      }
    });
  }

  void label_by_shards() {
    ShardLabels labels;
    std::vector<std::vector<std::int64_t>> numbers(scanned_.size());
    // A text whose rows were all left out is not a class.
    for_each_row([&](std::size_t shard, std::size_t row) {
      const std::int32_t label = scanned_[shard].rows[row].label;
      if (label < 0) return;
      std::vector<std::int64_t>& known = numbers[shard];
      known.resize(scanned_[shard].labels.size(), -1);
      std::int64_t& number = known[static_cast<std::size_t>(label)];
      if (number < 0)
        number = labels.number_of(scanned_[shard].labels[static_cast<std::size_t>(label)]);
    });
    if (labels.empty()) {
      merged_.labels_from = Adoption::kNowhere;
      merged_.classes = {"unlabelled"};
      merged_.notes.emplace_back("no sample has a label, so all get the class 'unlabelled'; " +
                                 opt("labels", "FILE") +
                                 " can give them "
                                 "labels");
      for (std::vector<std::int32_t>& some : merged_.labels) std::ranges::fill(some, 0);
      return;
    }
    merged_.labels_from = Adoption::kFromShards;
    merged_.classes = labels.make_classes(options_.classes, merged_.notes);
    for_each_row([&](std::size_t shard, std::size_t row) {
      const std::int32_t label = scanned_[shard].rows[row].label;
      if (label < 0) return reject(shard, row, Reason::kNoLabel);
      const ShardLabels::Resolved& resolved =
          labels.resolve(numbers[shard][static_cast<std::size_t>(label)]);
      merged_.labels[shard][row] = static_cast<std::int32_t>(resolved.label);
      if (resolved.label < 0) reject(shard, row, resolved.problem);
    });
  }

  const NamedShards& named_;
  const std::vector<ScannedShard>& scanned_;
  const AdoptOptions& options_;
  std::vector<Reject>& rejects_;
  MergedShards merged_;
};

/// The path that unpacking gives a sample: its class, and its key if that can be a path, otherwise
/// its number.
std::string path_of(const std::string& directory, const std::string& key, std::uint64_t sample,
                    ImageKind kind) {
  const bool control = std::ranges::any_of(
      key, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  bool fits = !control && naming::clean_path(key) == key;
  for (std::size_t begin = 0; fits && begin < key.size();) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    fits = end - begin <= kLongestName;
    begin = end + 1;
  }
  return directory + '/' + (fits ? key : "sample-" + key_of(sample)) +
         std::string(extension_of(kind));
}

}  // namespace

MergedShards merge_shards(const NamedShards& named, const std::vector<ScannedShard>& scanned,
                          const AdoptOptions& options, std::vector<Reject>& rejects) {
  return Merging(named, scanned, options, rejects).run();
}

std::string index_of(const ScannedShard& shard, std::size_t number, const MergedShards& merged,
                     const std::string& name) {
  std::vector<std::optional<std::size_t>> column;  // field of the dataset -> field of the shard
  for (const std::string& field : merged.fields) {
    const auto at = std::lower_bound(shard.fields.begin(), shard.fields.end(), field);
    const bool has = at != shard.fields.end() && *at == field;
    column.push_back(has ? std::optional(static_cast<std::size_t>(at - shard.fields.begin()))
                         : std::nullopt);
  }
  ShardIndexWriter writer(merged.fields);
  writer.reserve(shard.rows.size(), 2 * shard.keys.size());
  std::uint64_t sample = merged.first_samples[number];
  for (std::size_t row = 0; row < shard.rows.size(); ++row) {
    const std::int32_t label = merged.labels[number][row];
    if (label < 0) continue;
    const ScannedShard::Row& found = shard.rows[row];
    IndexEntry entry{found.range, found.hash, label, found.image, std::string(shard.key(row)), {}};
    if (merged.qualified_keys) entry.key = name + '/' + entry.key;
    entry.path = path_of(merged.classes[static_cast<std::size_t>(label)], entry.key, sample++,
                         found.image.kind);
    for (const std::optional<std::size_t>& at : column) {
      const std::size_t place = row * shard.fields.size() + at.value_or(0);
      entry.fields.push_back(at ? shard.field_ranges[place] : kAbsent);
      entry.field_hashes.push_back(at ? shard.field_hashes[place] : 0);
    }
    writer.add(entry);
  }
  return writer.serialise(shard.bytes);
}

}  // namespace packhorse
