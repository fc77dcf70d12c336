#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "annotations/exports/export_notation.h"
#include "base/option.h"
#include "base/paths.h"
#include "base/printable.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/annotated/annotated_folder.h"
#include "sources/kinds.h"
#include "sources/layout/folder_roles.h"

namespace packhorse::exports {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostFilesLookedAt = 64, kMostSplits = 16;
constexpr std::size_t kMostEntries = 65'536;  // of a folder, which FolderLook keeps for all kinds
constexpr const char* kImagesIn = "images";

/// A place of annotations: one file, or the folder that holds them.
struct Place {
  std::string split;   ///< "": of all images
  std::string folder;  ///< in the source, which holds its images; "": the source
  std::string file;    ///< in the source
};

struct ExportLayout {
  std::vector<Place> places;
  std::vector<std::string> without;  ///< folders of splits that hold images and no annotations
};

/// The names of files of the notation that are directly in a folder: few, and of those for images
/// one that lies beside its image.
std::vector<std::string> files_of(const ExportNotation& notation, const fs::path& folder,
                                  FolderLook& look) {
  std::vector<std::string> found;
  std::size_t looked_at = 0, entries = 0;
  std::error_code code;
  look.look_in(folder, [&](const fs::directory_entry& entry) {
    if (++entries > kMostEntries) return false;
    const fs::path& path = entry.path();
    const bool may_be = notation.extension.empty() || path.native().ends_with(notation.extension);
    if (!notation.by_image && !may_be) return true;
    const std::string name = path.filename().native();
    if (naming::passed_over(name) != nullptr) return true;
    if (!notation.by_image) {
      if (naming::has_any_image_name(name) || !entry.is_regular_file(code)) return true;
      if (is_export_file(notation, path)) found.push_back(name);
      return found.size() < 2 && ++looked_at < kMostFilesLookedAt;
    }
    if (!naming::has_any_image_name(name)) return true;
    const fs::path text = fs::path(path).replace_extension(notation.extension);
    if (!fs::is_regular_file(text, code)) return ++looked_at < kMostFilesLookedAt;
    if (is_export_file(notation, text)) found.push_back(text.filename().native());
    return false;
  });
  std::ranges::sort(found);
  return found;
}

/// Whether a folder holds folders of the notation's files, as DOTA's labelTxt, with such files.
bool has_label_folder(const ExportNotation& notation, const fs::path& folder, FolderLook& look) {
  for (const std::string& name : look.folders_in(folder)) {
    if (!name.starts_with(notation.label_folder)) continue;
    for (const std::string& file : look.files_in(folder / name))
      if (is_export_file(notation, folder / name / file)) return true;
  }
  return false;
}

/// In the folder itself, or in its folder of images and those of splits in it.
bool holds_images(const fs::path& folder, FolderLook& look) {
  if (look.holds_image_names(folder)) return true;
  const fs::path inside = folder / kImagesIn;
  if (!is_folder(inside)) return false;
  return look.holds_image_names(inside) ||
         std::ranges::any_of(look.folders_in(inside), [&](const std::string& name) {
           return !split_named(name).empty() && look.holds_image_names(inside / name);
         });
}

/// The annotations directly in a folder; nothing where there are none, or no images.
std::vector<std::string> annotations_in(const ExportNotation& notation, const fs::path& root,
                                        const std::string& folder, FolderLook& look) {
  const fs::path path = root / folder;
  if (!notation.label_folder.empty()) {
    if (has_label_folder(notation, path, look)) return {folder};
    return {};
  }
  if (!notation.by_image && !holds_images(path, look)) return {};
  std::vector<std::string> files = files_of(notation, path, look);
  if (notation.by_image && !files.empty()) return {folder};
  for (std::string& file : files) file = naming::join(folder, file);
  return files;
}

ExportLayout find_exports(const ExportNotation& notation, const fs::path& root, FolderLook& look) {
  ExportLayout found;
  for (std::string& file : annotations_in(notation, root, "", look))
    found.places.push_back({"", "", std::move(file)});
  if (!found.places.empty()) return found;
  std::size_t splits = 0;
  for (const std::string& folder : look.folders_in(root)) {
    const std::string split = split_named(folder);
    if (split.empty() || ++splits > kMostSplits) continue;
    std::vector<std::string> files = annotations_in(notation, root, folder, look);
    for (std::string& file : files) found.places.push_back({split, folder, std::move(file)});
    if (files.empty() && holds_images(root / folder, look)) found.without.push_back(folder);
  }
  return found;
}

class ExportFolder final : public AnnotatedFolder {
 public:
  ExportFolder(const ExportNotation& notation, const fs::path& path, FolderLook look = FolderLook())
      : AnnotatedFolder(path), notation_(notation), found_(find_exports(notation, path, look)) {
    targets_.notation = notation.notation;
    if (found_.places.empty())
      throw Error(ErrorKind::kUsage, fmt::format("the images do not come with {}", notation.title),
                  path,
                  "say where they are: " + opt("targets", std::string(targets_.name()) + ":PLACE"));
    for (const Place& place : found_.places) {
      const auto [at, added] = targets_.files.emplace(place.split, path / place.file);
      if (!added)
        refuse("there are several for the same images: " + at->second.filename().native() +
               " and " + fs::path(place.file).filename().native());
    }
    for (const std::string& folder : found_.without)
      if (split_named(folder) != "test")
        refuse("there are none for the images in '" + printable(folder) + "'");
  }

  Listing list(const ListOptions& options) override {
    refuse_others(options);
    ListOptions inside = options;
    inside.labels.unlabelled = true;
    if (!found_.places.front().folder.empty()) {
      inside.split_folders.emplace();
      for (const Place& place : found_.places)
        inside.split_folders->push_back({place.split, place.folder});
    }
    Listing listing = folder_->list(inside);
    for (const std::string& folder : found_.without)
      listing.notes.push_back("'" + printable(folder) + "' is left out: it has no annotations");
    std::vector<std::string> told;
    for (const Place& place : found_.places) told.push_back(printable(told_place(place)));
    listing.detected = fmt::format("{}: {}", notation_.title, fmt::join(told, ", "));
    return listing;
  }

 private:
  std::string told_place(const Place& place) const {
    if (!notation_.label_folder.empty()) return naming::join(place.file, notation_.label_folder);
    if (!notation_.by_image) return place.file;
    return place.file.empty() ? "beside the images" : "beside the images in " + place.file;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    CommandCall command{"pack", {root().native(), "OUT"}, {}};
    std::map<std::string, const Place*> firsts;
    for (const Place& place : found_.places) firsts.emplace(place.split, &place);
    std::string folders;
    for (const auto& [split, place] : firsts) {
      const std::string head = split.empty() ? "" : split + '=';
      command.options.emplace_back(
          "targets", head + std::string(targets_.name()) + ':' + (root() / place->file).native());
      if (!split.empty()) folders += (folders.empty() ? "" : ",") + head + place->folder;
    }
    if (!folders.empty()) command.options.emplace_back("split_folders", folders);
    throw Error(
        ErrorKind::kUsage,
        fmt::format("the folder has {}, but {}", notation_.title, printable(what)), root(),
        "say which are meant: " + call(command) + "; `source_kind=folder` packs images alone");
  }

  const ExportNotation& notation_;
  ExportLayout found_;
};

}  // namespace

bool probe(TargetOptions::Notation notation, const fs::path& path, FolderLook& look) {
  return is_folder(path) && !find_exports(*export_notation(notation), path, look).places.empty();
}

std::unique_ptr<Source> open(TargetOptions::Notation notation, const fs::path& path) {
  return std::make_unique<ExportFolder>(*export_notation(notation), path);
}

}  // namespace packhorse::exports
