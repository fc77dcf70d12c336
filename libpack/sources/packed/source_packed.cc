#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/paths.h"
#include "base/printable.h"
#include "dataset/dataset_directory.h"
#include "dataset/shard_index.h"
#include "listing/field_names.h"
#include "listing/listed_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/dataset/sample.h"
#include "sources/kinds.h"
#include "sources/layout/layout.h"

namespace packhorse::packed {

namespace fs = std::filesystem;

namespace {

/// Whether every format can hold the keys in their order: they consist of letters, digits, '-' and
/// '_' only, and still increase with the dot that follows a key in member names. Keys in shards or
/// indexes that others made may be anything.
bool keys_fit(const PackedDataset& dataset) {
  constexpr std::size_t kLongest = 64;
  std::string last;
  for (std::size_t shard = 0; shard < dataset.shards(); ++shard) {
    const auto held = dataset.index(shard);
    const ShardIndex& index = *held;
    for (std::size_t row = 0; row < index.size(); ++row) {
      const std::string key = std::string(index.key(row)) + '.';
      const bool plain = std::all_of(key.begin(), key.end() - 1, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '-' || c == '_';
      });
      if (!plain || key.size() > kLongest || key <= last) return false;
      last = key;
    }
  }
  return true;
}

/// The source path of a sample; where it is unknown, as in shards made by others, the path that
/// unpacking would give it.
std::string path_of(const PackedDataset& dataset, const ShardIndex& index, std::size_t row) {
  if (!index.path(row).empty()) return std::string(index.path(row));
  const auto label = static_cast<std::size_t>(index.label(row));
  return naming::join(
      dataset.classes().at(label),
      std::string(index.key(row)) + std::string(extension_of(index.image(row).kind)));
}

class PackedSource final : public Source {
 public:
  explicit PackedSource(const fs::path& path) : path_(path) {
    const std::vector<fs::path> paths = find_datasets(path);
    const bool splits = paths.front() != path;
    for (const fs::path& one : paths) {
      parts_.push_back({splits ? one.filename().string() : "", PackedDataset(one), {}, true});
      Part& part = parts_.back();
      part.own_keys = keys_fit(part.dataset);
    }
    for (const Part& part : parts_) {
      const bool one_mode =
          manifest(part).image == image_mode() && manifest(part).image_settings == image_settings();
      if (one_mode && targets_of(part) == targets()) continue;
      throw Error(ErrorKind::kUsage,
                  std::string("its splits were packed with different ") +
                      (one_mode ? "targets" : "image modes or settings"),
                  path_, "convert them one by one");
    }
  }

  Listing list(const ListOptions& options) override {
    refuse_folder_options(options, path_);
    if (!options.labels.empty()) {
      throw Error(ErrorKind::kUsage, "a packed dataset has its own labels", path_,
                  "leave out `labels=`; `classes=` can reorder them");
    }
    Listing listing;
    listing.classes = class_names(options);
    listing.fields = choose_fields(options.fields);
    const auto labels = naming::labels_of(listing.classes);
    for (const Part& part : parts_) {
      std::vector<std::int64_t> label_of;  // label there -> label here
      for (const std::string& name : part.dataset.classes()) label_of.push_back(labels.at(name));
      SplitListing& split = listing.splits.emplace_back();
      split.split = split.origin = part.split;
      split.entries = EntryTable(options.memory);
      for (const TargetRecord& target : manifest(part).targets)
        if (target.kind == kObjectsTarget) split.target_head = target.head;
      for (std::size_t shard = 0; shard < part.dataset.shards(); ++shard)
        list_shard(part, shard, label_of, split);
    }
    naming::refuse_empty(listing, path_, "pack it again from its source");
    return listing;
  }

  void read(const SplitListing& split, std::size_t i, Input& out) const override {
    const EntryTable::Facts facts = split.entries.facts(i);
    const Part& part = part_of(split);
    const PackedDataset::Place place = part.dataset.place(facts.locator);
    part.dataset.read(facts.locator, out.bytes);
    const ImageInfo image = part.dataset.index(place.shard)->image(place.row);
    out.image = image.kind == ImageKind::kRaw ? image : ImageInfo{};
    out.fields = 0;
    if (facts.fields != 0) read_fields(part, facts.locator, out);
  }

  bool prefetch(const SplitListing& split, std::size_t i) const override {
    const PackedDataset& dataset = part_of(split).dataset;
    if (!dataset.directory().remote()) return false;  // the kernel reads ahead
    const std::uint64_t sample = split.entries.facts(i).locator;
    dataset.prefetch({&sample, 1});
    return true;
  }

  bool ordered() const override { return true; }

  std::string key(const SplitListing& split, std::size_t i) const override {
    const Part& part = part_of(split);
    const std::uint64_t sample = split.entries.facts(i).locator;
    if (!part.own_keys) return key_of(sample, key_digits(part.dataset.size()));
    const PackedDataset::Place place = part.dataset.place(sample);
    return std::string(part.dataset.index(place.shard)->key(place.row));
  }

  std::string image_mode() const override { return manifest(parts_.front()).image; }
  std::string image_settings() const override { return manifest(parts_.front()).image_settings; }
  std::vector<TargetRecord> targets() const override { return targets_of(parts_.front()); }

 private:
  static constexpr std::size_t kNotWanted = ~std::size_t{0};

  struct Part {
    std::string split;
    PackedDataset dataset;
    std::vector<std::size_t> fields;  ///< manifest's field -> listing's field, or kNotWanted
    bool own_keys = true;             ///< false: keys are places in the dataset
  };

  static const Manifest& manifest(const Part& part) { return part.dataset.manifest(); }
  /// What all splits must have in common.
  static std::vector<TargetRecord> targets_of(const Part& part) {
    std::vector<TargetRecord> targets = manifest(part).targets;
    for (TargetRecord& target : targets) target.head.clear();
    return targets;
  }

  const Part& part_of(const SplitListing& split) const {
    return *std::ranges::find(parts_, split.origin, &Part::split);
  }

  std::vector<std::string> class_names(const ListOptions& options) const {
    const std::vector<std::string>& first = parts_.front().dataset.classes();
    std::set<std::string> found;
    bool same = true;
    for (const Part& part : parts_) {
      found.insert(part.dataset.classes().begin(), part.dataset.classes().end());
      same = same && part.dataset.classes() == first;
    }
    if (!options.classes.empty()) return naming::class_names(options.classes, found, path_);
    if (same) return first;
    throw Error(ErrorKind::kUsage, "its splits have different class lists", path_,
                "give the order of all classes with `classes=`, or convert the splits one by one");
  }

  std::vector<std::string> choose_fields(const FieldChoice& choice) {
    std::vector<std::string> all;
    for (const Part& part : parts_)
      all.insert(all.end(), manifest(part).fields.begin(), manifest(part).fields.end());
    std::vector<std::string> wanted =
        choice.names ? wanted_fields(*choice.names, all, path_) : sorted_fields(all, path_);
    for (Part& part : parts_) {
      for (const std::string& name : manifest(part).fields) {
        const auto at = std::lower_bound(wanted.begin(), wanted.end(), name);
        const bool is = at != wanted.end() && *at == name;
        part.fields.push_back(is ? static_cast<std::size_t>(at - wanted.begin()) : kNotWanted);
      }
    }
    return wanted;
  }

  void list_shard(const Part& part, std::size_t shard, const std::vector<std::int64_t>& label_of,
                  SplitListing& out) const {
    const auto held = part.dataset.index(shard);
    const ShardIndex& index = *held;
    const std::uint64_t first = manifest(part).shards[shard].first_sample;
    for (std::size_t row = 0; row < index.size(); ++row) {
      EntryTable::Facts facts{
          .size = index.range(row).length,
          .stamp = static_cast<std::int64_t>(index.hash(row)),
          .locator = first + row,
          .label = label_of.at(static_cast<std::size_t>(index.label(row))),
      };
      list_fields(part, shard, row, facts);
      const std::string path = path_of(part.dataset, index, row);
      if (facts.size > naming::kLargestImage) {
        out.rejects.push_back({printable(path), Reason::kFileTooLarge});
        continue;
      }
      const auto [directory, name] = naming::directory_and_name(path);
      out.entries.add(directory, name, facts);
    }
  }

  /// Adds to `facts` those of the wanted fields that the sample has.
  void list_fields(const Part& part, std::size_t shard, std::size_t row,
                   EntryTable::Facts& facts) const {
    const auto held = part.dataset.index(shard);
    const ShardIndex& index = *held;
    std::uint64_t hash = 0;
    for (std::size_t f = 0; f < part.fields.size(); ++f) {
      if (part.fields[f] == kNotWanted || !index.has_field(row, f)) continue;
      if (!facts.add_field(part.fields[f], index.field_range(row, f).length)) {
        throw Error(ErrorKind::kUnsupported,
                    "a sample's extra fields have more than 4 GiB together",
                    part.dataset.data_path(shard), "choose fewer with `fields=`",
                    std::string(index.key(row)));
      }
      hash = hash * 31 + index.field_hash(row, f);
    }
    if (facts.fields != 0) facts.stamp = mix_stamp(facts.stamp, hash);
  }

  static void read_fields(const Part& part, std::size_t sample, Input& out) {
    for (std::size_t f = 0; f < part.fields.size(); ++f) {
      if (part.fields[f] == kNotWanted) continue;
      if (out.extras.size() <= out.fields) out.extras.emplace_back();
      Input::Extra& extra = out.extras[out.fields];
      extra.field = part.fields[f];
      if (part.dataset.read_field(sample, f, extra.bytes)) ++out.fields;
    }
  }

  fs::path path_;
  std::vector<Part> parts_;
};

/// Whether a folder in it holds images or folders, as no shard does.
bool holds_folders_of_images(const fs::path& dataset, FolderLook& look) {
  bool found = false;
  std::error_code code;
  look.look_in(dataset, [&](const fs::directory_entry& entry) {
    if (!entry.is_directory(code) || naming::passed_over(entry.path().filename().native()))
      return true;
    look.look_in(entry.path(), [&](const fs::directory_entry& inner) {
      found = inner.is_directory(code) || naming::has_any_image_name(inner.path().native());
      return !found;
    });
    return !found;
  });
  return found;
}

}  // namespace

bool probe(const fs::path& path, FolderLook& look) {
  // Other people's folders may hold a dataset.json, too, so a class list must lie beside it.
  const auto is_dataset = [](const fs::path& directory) {
    return is_packed_dataset(directory) && is_file(directory / kClassesName);
  };
  std::error_code code;
  if (!fs::is_directory(path, code)) return false;
  if (is_dataset(path)) return !holds_folders_of_images(path, look);
  // Datasets beside other folders are what is packed, or were packed into it: that is for others to
  // refuse. What is closed may be a split.
  bool datasets = false, others = false;
  look.look_in(path, [&](const fs::directory_entry& entry) {
    if (!entry.is_directory(code) || naming::passed_over(entry.path().filename().native()))
      return true;
    if (fs::status(entry.path() / kManifestName, code).type() == fs::file_type::none) return true;
    const bool dataset = is_dataset(entry.path()) && !holds_folders_of_images(entry.path(), look);
    (dataset ? datasets : others) = true;
    return !others;
  });
  return datasets && !others;
}

std::unique_ptr<Source> open(const fs::path& path) { return std::make_unique<PackedSource>(path); }

}  // namespace packhorse::packed
