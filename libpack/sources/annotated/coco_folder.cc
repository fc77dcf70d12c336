#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "annotations/coco_file.h"
#include "base/option.h"
#include "base/paths.h"
#include "base/printable.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/annotated/annotated_folder.h"
#include "sources/kinds.h"
#include "sources/layout/folder_roles.h"

namespace packhorse::coco {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kInstances = "instances", kCaptions = "captions", kJson = ".json";
constexpr const char* kInFolder = "_annotations.coco.json";
constexpr const char* kImages = "images";
constexpr const char* kInNoFile = "in no annotation file";
constexpr const char* kAnyImages = "default";  // CVAT's name where there are no splits

/// The images of one annotation file.
struct Part {
  std::string split;          ///< "" where the file is for all images
  std::string folder;         ///< of the images, in the source
  std::string file;           ///< of the annotations, in the source
  std::string captions = {};  ///< of the same images, in the source; "": there are none
  bool shared = false;        ///< the folder holds the images of all splits
};

/// What of a source belongs to COCO.
struct CocoLayout {
  std::vector<Part> parts;
  std::vector<std::string> without_folder;  ///< annotation files whose images were not found
  std::vector<std::string> others;          ///< files of key points, ...

  bool all_have_captions() const {
    return std::ranges::none_of(parts, [](const Part& part) { return part.captions.empty(); });
  }
};

/// The name that a file of that beginning is about: "train2017" for "instances_train2017.json".
std::optional<std::string> name_about(std::string_view file) {
  if (!file.starts_with(kInstances) || !file.ends_with(kJson)) return std::nullopt;
  file.remove_prefix(kInstances.size());
  file.remove_suffix(kJson.size());
  if (file.empty()) return "";
  return file.front() == '_' && file.size() > 1 ? std::optional(std::string(file.substr(1)))
                                                : std::nullopt;
}

/// Gives the parts the files of captions that are named as theirs, where none lacks one.
void find_captions(CocoLayout& found) {
  for (Part& part : found.parts) {
    const std::size_t name = part.file.find(kInstances);
    if (name == std::string::npos) continue;
    std::string captions = part.file;
    captions.replace(name, kInstances.size(), kCaptions);
    const auto there = std::ranges::find(found.others, captions);
    if (there != found.others.end()) part.captions = captions;
  }
  if (!found.all_have_captions()) return;
  for (const Part& part : found.parts)
    found.others.erase(std::ranges::find(found.others, part.captions));
}

CocoLayout find_coco(const fs::path& root, FolderLook& look) {
  CocoLayout found;
  for (const std::string& file : look.files_in(root / "annotations")) {
    const std::string path = "annotations/" + file;
    const auto name = name_about(file);
    if (!name) {
      if (file.ends_with(kJson)) found.others.push_back(path);
      continue;
    }
    const bool may_be_all = name->empty() || *name == kAnyImages;
    std::vector<std::string> folders;
    if (!name->empty()) folders = {"images/" + *name, *name};
    if (may_be_all) folders.emplace_back("images");
    const auto folder = std::ranges::find_if(
        folders, [&](const std::string& one) { return is_folder(root / one); });
    const bool all = may_be_all && folder != folders.end() && *folder == "images";
    if (folder != folders.end())
      found.parts.push_back({all ? "" : split_or_name(*name), *folder, path});
    else if (!name->empty() && is_folder(root / kImages) && look.holds_image_names(root / kImages))
      found.parts.push_back({split_or_name(*name), kImages, path, {}, true});
    else if (!name->empty())
      found.without_folder.push_back(path);
  }
  for (const std::string& folder : look.folders_in(root)) {
    if (is_file(root / folder / kInFolder))
      found.parts.push_back({split_or_name(folder), folder, folder + "/" + kInFolder});
  }
  std::ranges::sort(found.parts, {}, &Part::split);
  const auto is_shared = [](const Part& part) { return part.shared; };
  if (!std::ranges::all_of(found.parts, is_shared)) {  // it is clear what the folder is for
    for (const Part& part : found.parts)
      if (part.shared) found.without_folder.push_back(part.file);
    std::erase_if(found.parts, is_shared);
  }
  find_captions(found);
  return found;
}

/// Folders of images that are named like splits and that no annotation file is about.
std::vector<std::string> left_out(const fs::path& root, const std::vector<Part>& parts) {
  FolderLook look;
  std::vector<std::string> left;
  for (const char* above : {"", "images"}) {
    for (const std::string& name : look.folders_in(root / above)) {
      const std::string folder = naming::join(above, name);
      const bool used = std::ranges::any_of(
          parts, [&](const Part& part) { return naming::lies_in(folder, part.folder); });
      if (!used && !split_named(name).empty() && look.holds_image_names(root / folder))
        left.push_back(folder);
    }
  }
  return left;
}

class CocoFolder final : public AnnotatedFolder {
 public:
  explicit CocoFolder(const fs::path& path, FolderLook look = FolderLook())
      : AnnotatedFolder(path), found_(find_coco(path, look)) {
    targets_.notation = TargetOptions::Notation::kCoco;
    for (const Part& part : found_.parts)
      if (!targets_.files.emplace(part.split, path / part.file).second)
        refuse("two annotation files are for one split, " +
               (part.split.empty() ? std::string("the whole") : part.split));
    if (found_.parts.empty())
      throw Error(ErrorKind::kUsage, "there is no annotation file of COCO whose images are there",
                  path,
                  "name the file: `targets=coco:FILE`; for one split alone: "
                  "`targets=val=coco:FILE`");
    if (targets_.files.contains("") && found_.parts.size() > 1)
      refuse("there are annotation files for splits, and one for all images");
    if (found_.all_have_captions()) {
      for (const Part& part : found_.parts)
        targets_.extras.push_back(
            {ExtraTarget::Kind::kCaption, (path / part.captions).native(), part.split});
    }
    if (!found_.without_folder.empty())
      refuse("there are no images for " + naming::quoted(found_.without_folder));
    left_ = left_out(path, found_.parts);
    for (const std::string& folder : left_)
      if (split_named(naming::last_name(folder)) != "test")
        refuse("there is no annotation file for the images in '" + printable(folder) + "'");
  }

  Listing list(const ListOptions& options) override {
    refuse_others(options);
    ListOptions inside = options;
    inside.labels.unlabelled = true;
    inside.split_folders.emplace();
    const bool shared = found_.parts.front().shared;
    for (const Part& part : found_.parts)
      if (!shared) inside.split_folders->push_back({part.split, part.folder});
    if (shared) inside.split_folders->push_back({"", kImages});
    Listing listing = folder_->list(inside);
    if (shared) divide(listing);
    note_folders(listing);
    for (const std::string& folder : left_)
      listing.notes.push_back("'" + printable(folder) +
                              "' is left out: no annotation file is about its images");
    note_others(listing);
    std::vector<std::string> told;
    for (const Part& part : found_.parts)
      told.push_back(fmt::format(
          "{}{}{} for {}", part.split.empty() ? "" : part.split + ": ", printable(part.file),
          found_.all_have_captions() ? " and captions" : "", printable(part.folder)));
    listing.detected = fmt::format("COCO's annotations: {}", fmt::join(told, ", "));
    return listing;
  }

 private:
  /// The split of each name of an image in the annotation files, by the name without its folders.
  std::unordered_multimap<std::string, std::pair<std::string, const Part*>> names_in_files() const {
    std::unordered_multimap<std::string, std::pair<std::string, const Part*>> names;
    for (const Part& part : found_.parts) {
      const CocoFile file(root() / part.file);
      for (const CocoFile::Image& image : file.images()) {
        std::string name = image.file_name;
        std::ranges::replace(name, '\\', '/');
        std::string last(naming::last_name(name));
        names.emplace(std::move(last), std::pair(std::move(name), &part));
      }
    }
    return names;
  }

  /// Makes a split of the images that each annotation file names.
  void divide(Listing& listing) const {
    SplitListing whole = std::move(listing.splits.front());
    std::map<std::string, SplitListing> splits;
    for (const Part& part : found_.parts) {
      SplitListing& split = splits[part.split];
      split.split = part.split;
      split.origin = whole.origin;
      split.entries = EntryTable(whole.entries.memory());
    }
    const auto names = names_in_files();
    std::size_t left = 0;
    for (std::size_t i = 0; i < whole.entries.size(); ++i) {
      const std::string path = whole.entries.path_of(i);
      const Part* own = nullptr;
      const auto [first, last] = names.equal_range(std::string(naming::last_name(path)));
      for (auto one = first; one != last; ++one) {
        const auto& [name, part] = one->second;
        const std::string image = "/" + naming::join(whole.origin, path), named = "/" + name;
        if (!image.ends_with(named) && !named.ends_with("/" + path)) continue;
        if (own != nullptr && own != part)
          throw Error(ErrorKind::kUsage,
                      fmt::format("the image {} is in {} and in {}", printable(path),
                                  printable(own->file), printable(part->file)),
                      root(), "let each image be in one split");
        own = part;
      }
      if (own != nullptr) splits[own->split].entries.add_from(whole.entries, i);
      if (own != nullptr) continue;
      listing.skips.push_back({printable(naming::join(whole.origin, path)), kInNoFile});
      ++left;
    }
    if (left > 0)
      listing.notes.push_back(fmt::format("{} {} left out: no annotation file names {}", left,
                                          left == 1 ? "image is" : "images are",
                                          left == 1 ? "it" : "them"));
    listing.splits.clear();
    for (auto& [name, split] : splits) listing.splits.push_back(std::move(split));
    SplitListing& front = listing.splits.front();
    front.rejects = std::move(whole.rejects);
    front.skips = std::move(whole.skips);
  }

  /// Notes which annotation files are not read, and how they would be.
  void note_others(Listing& listing) const {
    std::vector<std::string> captions, others;
    for (const std::string& file : found_.others)
      (naming::last_name(file).starts_with(kCaptions) ? captions : others).push_back(file);
    if (!captions.empty())
      listing.notes.push_back("not read: " + naming::quoted(captions) +
                              "; captions are packed with " + opt("targets", "caption:FILE"));
    if (!others.empty())
      listing.notes.push_back("not read: " + naming::quoted(others) + "; instead of the others, " +
                              opt("targets", "coco:FILE") +
                              " reads such a file, of instances or of key points");
  }

  /// Notes that folders around images are not packed as classes.
  static void note_folders(Listing& listing) {
    for (const SplitListing& split : listing.splits) {
      if (split.entries.size() == 0) continue;
      const std::string path = split.entries.path_of(0);
      const std::string_view folder = naming::directory_of(path);
      if (folder.empty()) continue;
      const auto depth = std::ranges::count(split.origin, '/') + (split.origin.empty() ? 1 : 2);
      listing.notes.push_back(fmt::format(
          "folders around the images, such as {}, are not packed as classes: the annotations say "
          "what the images show; {} packs the folders as classes instead",
          naming::shown(naming::join(split.origin, folder)),
          opt("classes_at", std::to_string(depth))));
      return;
    }
  }

  /// Refuses a layout that is not clear, with the command that says what is meant.
  [[noreturn]] void refuse(const std::string& what) const {
    CommandCall command{"pack", {root().native(), "OUT"}, {}};
    std::string folders;
    std::vector<std::string> there;
    for (const Part& part : found_.parts) {
      if (std::ranges::find(there, part.split) != there.end()) continue;
      if (part.split.empty() && !found_.parts.back().split.empty()) continue;
      there.push_back(part.split);
      const std::string head = part.split.empty() ? "" : part.split + "=";
      command.options.emplace_back("targets", head + "coco:" + (root() / part.file).native());
      folders += (folders.empty() ? "" : ",") + head + part.folder;
    }
    command.options.emplace_back("split_folders", folders);
    throw Error(ErrorKind::kUsage, "the folder looks like COCO's, but " + what, root(),
                "say which files are meant: " + call(command) +
                    "; `source_kind=folder` packs images alone");
  }

  CocoLayout found_;
  std::vector<std::string> left_;
};

}  // namespace

bool probe(const fs::path& path, FolderLook& look) {
  const CocoLayout found = find_coco(path, look);
  return !found.parts.empty() || !found.without_folder.empty();
}

std::unique_ptr<Source> open(const fs::path& path) { return std::make_unique<CocoFolder>(path); }

}  // namespace packhorse::coco
