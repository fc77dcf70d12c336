#include <fmt/format.h>

#include "base/hash.h"
#include "dataset/dataset_kinds.h"
#include "packhorse/base/error.h"
#include "sources/folder_look.h"
#include "sources/source.h"

namespace packhorse::reader {

namespace fs = std::filesystem;

namespace {

/// The kind of source whose annotations lie in a file for all images; empty where none do.
std::string_view annotated_kind(const fs::path& path) {
  FolderLook look;
  for (const SourceKind& kind : all_sources())
    if (kind.has_annotation_file && kind.probe(path, look)) return kind.name;
  return {};
}

std::unique_ptr<Source> open_folder_source(const fs::path& path) {
  const std::string_view kind = annotated_kind(path);
  return open_source(path, kind.empty() ? "folder" : kind);
}

/// As `packhorse pack` does when nothing may be rejected: an image without annotations, or
/// annotations without their image, are a mistake somewhere.
void refuse_rejects(const SplitListing& split, const fs::path& path) {
  if (split.rejects.empty()) return;
  const Reject& first = split.rejects.front();
  throw Error(ErrorKind::kUsage,
              std::to_string(split.rejects.size()) +
                  " of its images and annotations do not go together; the first: " + first.path +
                  ": " + first.reason,
              path, "mend the folder, or pack it with `max_rejects=` and use the packed dataset");
}

class Folder final : public Dataset {
 public:
  Folder(const fs::path& path, const std::string& split, OddClasses odd)
      : source_(open_folder_source(path)), root_(path) {
    Listing listing = list_source(*source_, {});
    if (listing.made_targets) {
      keep_objects(listing);
    } else if (odd == OddClasses::kRefuse) {
      refuse_wrong_labels(listing, path);
    }
    std::vector<std::string> names;
    for (const SplitListing& found : listing.splits) names.push_back(found.split);
    split_ = std::move(listing.splits[choose_split(names, split, path)]);
    classes_ = std::move(listing.classes);
    listing_.made_targets = std::move(listing.made_targets);
    if (listing_.made_targets) refuse_rejects(split_, path);
    if (!split_.origin.empty()) root_ /= split_.origin;
    if (split_.entries.size() == 0) {
      throw Error(ErrorKind::kNotFound, "there are no images in the folder", root_,
                  "give a folder with one folder per class: FOLDER/<class>/<image>");
    }
  }

  std::string id() const override {
    Sha256 hash;
    for (std::size_t i = 0; i < size(); ++i) {
      const std::string line =
          fmt::format("{} {} {}\n", split_.entries.path_of(i), label(i), bytes(i));
      hash.update(as_bytes(line));
    }
    return hash.finish();
  }
  std::size_t size() const override { return split_.entries.size(); }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int64_t label(std::size_t i) const override { return split_.entries.label_of(i); }
  std::uint64_t bytes(std::size_t i) const override { return split_.entries.size_of(i); }
  void read(std::size_t i, std::vector<std::byte>& out) const override {
    Input input;
    input.bytes.swap(out);
    source_->read(split_, i, input);
    input.bytes.swap(out);
  }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<TargetRecord>& targets() const override { return targets_; }
  bool read_field(std::size_t i, std::size_t, std::vector<std::byte>& out) const override {
    out = annotated_objects(*source_, listing_, split_, i);
    return true;
  }
  std::string describe(std::size_t i) const override { return path(i).string(); }
  std::string source_path(std::size_t i) const override { return split_.entries.path_of(i); }
  std::vector<fs::path> files() const override {
    std::vector<fs::path> files;
    files.reserve(size());
    for (std::size_t i = 0; i < size(); ++i) files.push_back(path(i));
    return files;
  }
  bool one_file_a_sample() const override { return true; }
  std::string format() const override { return "folder"; }
  std::string image_mode() const override { return "original"; }

 private:
  /// Of all that annotations say, folders have the objects alone.
  void keep_objects(const Listing& listing) {
    for (const TargetRecord& target : listing.targets)
      if (target.kind == kObjectsTarget) targets_.push_back(target);
    for (const TargetRecord& target : targets_) fields_.push_back(target.name);
  }

  /// Refuses as `packhorse pack` does. A single class has no wrong label, nor has an empty folder.
  static void refuse_wrong_labels(const Listing& listing, const fs::path& path) {
    using Kind = Doubt::Kind;
    for (const Doubt& doubt : listing.doubts) {
      if (doubt.kind == Kind::kEmptySplit || doubt.kind == Kind::kEmptyClass ||
          doubt.kind == Kind::kOneClass)
        continue;
      throw Error(
          ErrorKind::kUsage, doubt.what, path,
          "give the folder that holds the class folders; or pack it first: `packhorse pack` tells "
          "how it can be read");
    }
  }

  fs::path path(std::size_t i) const { return root_ / split_.entries.path_of(i); }

  std::unique_ptr<Source> source_;
  fs::path root_;
  std::vector<std::string> classes_, fields_;
  std::vector<TargetRecord> targets_;
  Listing listing_;  ///< what says the objects, and nothing else
  SplitListing split_;
};

}  // namespace

std::shared_ptr<const Dataset> open_folder(const fs::path& path, const std::string& split,
                                           OddClasses odd) {
  if (fs::is_regular_file(path)) {
    throw Error(
        ErrorKind::kUsage, "this is a file, neither a packed dataset nor a class folder", path,
        "pack it with `packhorse pack`, or make shards a dataset with `packhorse index`, and "
        "give that dataset");
  }
  return std::make_shared<Folder>(path, split, odd);
}

std::vector<std::string> annotated_splits(const fs::path& path) {
  const std::string_view kind = annotated_kind(path);
  std::vector<std::string> names;
  if (kind.empty()) return names;
  const std::unique_ptr<Source> source = open_source(path, kind);
  const TargetOptions targets = source->own_targets();
  if (targets.files.contains("")) {  // one file for all images: their folders say the splits
    for (const SplitListing& found : list_source(*source, {}).splits) names.push_back(found.split);
    return names;
  }
  for (const auto& [split, file] : targets.files) names.push_back(split);
  return names;
}

}  // namespace packhorse::reader
