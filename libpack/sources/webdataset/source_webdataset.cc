#include <optional>

#include "archive/archive_scan.h"
#include "base/paths.h"
#include "dataset/class_list.h"
#include "formats/wds/key_dot.h"
#include "formats/wds/layout.h"
#include "formats/wds/shard_samples.h"
#include "labels/label_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/manifest.h"
#include "sources/kinds.h"
#include "sources/layout/layout.h"
#include "sources/payload_source.h"
#include "sources/webdataset/shard_names.h"

namespace packhorse::webdataset {

namespace fs = std::filesystem;

namespace {

constexpr int kMembersLookedAt = 64;

class WebDatasetSource final : public PayloadSource {
 public:
  explicit WebDatasetSource(fs::path path) : path_(std::move(path)) {}

  Listing list(const ListOptions& options) override {
    refuse_folder_options(options, path_);
    payloads_.emplace(options.scratch);
    const std::vector<fs::path> shards = find_shards(path_);
    const std::vector<std::string> classes = class_list(options, shards.front());
    std::optional<LabelFile> labels;
    if (!options.labels.empty()) labels.emplace(only_labels_file(options.labels, path_), classes);
    ShardSamples samples(*payloads_, options.fields, labels ? &*labels : nullptr, options.memory);
    for (const fs::path& shard : shards) samples.add_shard(shard);
    return samples.finish(classes, path_);
  }

 private:
  static std::vector<std::string> class_list(const ListOptions& options, const fs::path& shard) {
    if (!options.classes.empty()) return options.classes;
    const fs::path beside = shard.parent_path() / kClassesName;
    return fs::exists(beside) ? read_class_list(beside) : std::vector<std::string>{};
  }

  fs::path path_;
};

/// Follows the members' keys and notes what tells shards from class folders.
class Clues {
 public:
  void add(const std::string& path) {
    const std::optional<wds::MemberName> name = wds::cut_member_name(path);
    if (!name) return;
    if (name->key != key_) {
      end_of_run();
      key_ = name->key;
      image_ = label_ = other_ = array_ = false;
    }
    if (naming::has_any_image_name(path)) {
      image_ = true;
    } else if (name->extension == "npy") {
      array_ = true;
    } else {
      (wds::cut_last(name->extension).second == "cls" ? label_ : other_) = true;
    }
  }

  void end_of_run() {
    if (!image_ && !(array_ && label_)) return;  // a .npz holds arrays of many images
    other_ = other_ || (image_ && array_);       // the array is a field of the image
    const bool in_folder = key_.find('/') != std::string::npos;
    if (label_ || (other_ && !in_folder)) samples_ = true;
    if (in_folder && other_) unclear_ = true;  // fields of an image
    if (!in_folder) bare_ = true;
  }

  bool samples() const { return samples_; }
  bool unclear() const { return unclear_; }
  bool bare() const { return bare_; }  ///< images of no class

 private:
  std::string key_;
  bool image_ = false, label_ = false, other_ = false;
  bool array_ = false;  ///< a NumPy file, the image of samples that have no other
  bool samples_ = false, unclear_ = false, bare_ = false;
};

[[noreturn]] void ask(const fs::path& path) {
  throw Error(ErrorKind::kUsage,
              "the archive may hold class folders or WebDataset samples: its first members do not "
              "tell which",
              path, "give `source_kind=archive` or `source_kind=webdataset`");
}

}  // namespace

Look look_at(const fs::path& archive) {
  const UniqueFd fd = open_for_reading(archive);
  Spool none({});
  ArchiveScan scan(archive, fd.get(), none);
  Clues clues;
  for (int i = 0; i < kMembersLookedAt && scan.next(); ++i) {
    const std::optional<std::string> path = naming::clean_path(scan.member().name);
    if (!path || scan.member().type == Member::Type::kDirectory ||
        !naming::passed_over_in(*path).empty()) {
      continue;
    }
    if (has_archive_name(*path)) return Look::kClassFolders;
    clues.add(*path);
  }
  clues.end_of_run();
  if (clues.samples()) return Look::kSamples;
  if (clues.unclear()) return Look::kUnclear;
  return clues.bare() ? Look::kBareImages : Look::kClassFolders;
}

bool holds_bare_images(const fs::path& path) try {
  const UniqueFd fd = open_for_reading(path);
  return is_archive(fd.get(), path) && look_at(path) == Look::kBareImages;
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kCorrupt) throw;
  return false;  // reading the archive reports this again, with the place
}

bool probe(const fs::path& path, FolderLook& folders) {
  if (!path_exists(path)) return is_shard_pattern(path);
  const bool folder = is_shard_folder(path, folders);
  if (!folder && !is_file(path)) return false;
  const fs::path first = folder ? find_shards(path).front() : path;
  const UniqueFd fd = open_for_reading(first);
  if (!is_archive(fd.get(), first)) return folder;
  Look look = Look::kClassFolders;
  try {
    look = look_at(first);
  } catch (const Error& error) {
    // Reading the archive reports this again, with the place.
    if (error.kind() != ErrorKind::kCorrupt) throw;
    return folder;
  }
  if (look == Look::kUnclear || look == Look::kBareImages) ask(first);
  if (folder && look == Look::kClassFolders) {
    throw Error(ErrorKind::kUsage, "the folder holds archives that are not WebDataset shards",
                first,
                "give one archive as the source, or say which is which split: "
                "`split_folders=train=FILE.tar,val=OTHER.tar`");
  }
  return look == Look::kSamples;
}

std::unique_ptr<Source> open(const fs::path& path) {
  return std::make_unique<WebDatasetSource>(path);
}

}  // namespace packhorse::webdataset
