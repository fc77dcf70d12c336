#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "annotations/hf_metadata.h"
#include "base/option.h"
#include "base/printable.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/annotated/annotated_folder.h"
#include "sources/kinds.h"
#include "sources/layout/folder_roles.h"

namespace packhorse::hf {

namespace fs = std::filesystem;

namespace {

constexpr const char* kMetadata = "metadata.jsonl";

/// Folders of splits that are looked for by name: the source may hold too many to look into each.
constexpr const char* kSplitFolders[] = {"train",      "training", "test", "testing",
                                         "validation", "valid",    "val",  "dev"};

struct HfLayout {
  std::vector<std::string> folders;  ///< that hold metadata with objects; "": the source itself
  std::vector<std::string> without;  ///< folders of splits that hold images and none
  bool labels = false;               ///< some of them have labels, too
};

HfLayout find_hf(const fs::path& root, FolderLook& look) {
  if (const HfMembers own = hf_members(root / kMetadata); own.objects) return {{""}, {}, own.label};
  HfLayout found;
  for (const char* const folder : kSplitFolders) {
    const HfMembers members = hf_members(root / folder / kMetadata);
    if (!members.objects) continue;
    found.folders.emplace_back(folder);
    found.labels = found.labels || members.label;
  }
  if (found.folders.empty()) return found;
  for (const std::string& folder : look.folders_in(root)) {
    if (std::ranges::find(found.folders, folder) == found.folders.end() &&
        look.holds_image_names(root / folder))
      found.without.push_back(folder);
  }
  return found;
}

class HfFolder final : public AnnotatedFolder {
 public:
  explicit HfFolder(const fs::path& path, FolderLook look = FolderLook())
      : AnnotatedFolder(path), found_(find_hf(path, look)) {
    targets_.notation = TargetOptions::Notation::kHf;
    if (found_.folders.empty())
      throw Error(ErrorKind::kUsage, "there is no metadata.jsonl with objects", path,
                  "name the file: `targets=hf:FILE`; for one split alone: `targets=val=hf:FILE`");
    for (const std::string& folder : found_.folders) {
      const std::string split = folder.empty() ? "" : split_or_name(folder);
      if (!targets_.files.emplace(split, path / folder / kMetadata).second)
        refuse("two folders are for one split, " + split);
    }
    for (const std::string& folder : found_.without)
      if (split_named(folder) != "test")
        refuse("there is none for the images in '" + printable(folder) + "'");
  }

  Listing list(const ListOptions& options) override {
    refuse_others(options);
    ListOptions inside = options;
    inside.labels.unlabelled = true;
    if (!found_.folders.front().empty()) {
      inside.split_folders.emplace();
      for (const std::string& folder : found_.folders)
        inside.split_folders->push_back({split_or_name(folder), folder});
    }
    std::vector<fs::path> files;
    for (const auto& [split, file] : targets_.files) files.push_back(file);
    targets_.classes =
        options.targets.classes.empty() ? hf_class_names(files) : options.targets.classes;
    Listing listing = folder_->list(inside);
    for (const std::string& folder : found_.without)
      listing.notes.push_back("'" + printable(folder) +
                              "' is left out: it has no metadata.jsonl with objects");
    listing.detected = fmt::format("Hugging Face's metadata with objects: {}", told());
    return listing;
  }

 private:
  std::string told() const {
    std::vector<std::string> places;
    for (const std::string& folder : found_.folders)
      places.push_back(printable(naming::join(folder, kMetadata)));
    return fmt::format("{}", fmt::join(places, ", "));
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::kUsage, "the folder has a metadata.jsonl with objects, but " + what,
                root(),
                "say which files are meant: `targets=SPLIT=hf:FILE` with `split_folders=`; "
                "`source_kind=folder` packs images alone");
  }

  HfLayout found_;
};

}  // namespace

bool probe(const fs::path& path, FolderLook& look) { return !find_hf(path, look).folders.empty(); }

std::unique_ptr<Source> open(const fs::path& path) { return std::make_unique<HfFolder>(path); }

void refuse_labels_too(const fs::path& path, FolderLook& look) {
  const HfLayout found = find_hf(path, look);
  if (!found.labels) return;
  const std::vector<std::string> places = {path.native(), "OUT"};
  CommandCall both{"pack", places, {{"path_column", "file_name"}, {"label_column", "label"}}};
  for (const std::string& folder : found.folders) {
    const std::string split = folder.empty() ? "" : split_or_name(folder) + "=";
    const std::string file = (path / folder / kMetadata).native();
    both.options.emplace_back("labels", split + file);
    both.options.emplace_back("targets", split + "hf:" + file);
  }
  const auto alone = [&](const char* kind) {
    return call({"pack", places, {{"source_kind", kind}}});
  };
  throw Error(ErrorKind::kUsage, "the metadata.jsonl has labels and objects of its images", path,
              fmt::format("take both: {}\nthe objects alone: {}\nthe labels alone: {}", call(both),
                          alone("hf"), alone("folder")));
}

}  // namespace packhorse::hf
