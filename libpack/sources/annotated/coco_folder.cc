#include "sources/annotated/coco_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/base/printable.h"
#include "sources/annotated/annotated_folder.h"
#include "sources/layout/folder_roles.h"

namespace packhorse::coco {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kInstances = "instances", kCaptions = "captions", kJson = ".json";
constexpr const char* kInFolder = "_annotations.coco.json";
constexpr const char* kAnyImages = "default";  // CVAT's name where there are no splits

/// The images of one annotation file.
struct Part {
  std::string split;          ///< "" where the file is for all images
  std::string folder;         ///< of the images, in the source
  std::string file;           ///< of the annotations, in the source
  std::string captions = {};  ///< of the same images, in the source; "": there are none
};

/// What of a source belongs to COCO.
struct CocoLayout {
  std::vector<Part> parts;
  std::vector<std::string> without_folder;  ///< annotation files whose images were not found
  std::vector<std::string> others;          ///< files of key points, ...

  bool all_have_captions() const {
    return std::none_of(parts.begin(), parts.end(),
                        [](const Part& part) { return part.captions.empty(); });
  }
};

std::string split_for(const std::string& name) {
  const std::string split = split_named(name);
  return split.empty() ? name : split;
}

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
    const auto there = std::find(found.others.begin(), found.others.end(), captions);
    if (there != found.others.end()) part.captions = captions;
  }
  if (!found.all_have_captions()) return;
  for (const Part& part : found.parts)
    found.others.erase(std::find(found.others.begin(), found.others.end(), part.captions));
}

CocoLayout find_coco(const fs::path& root) {
  CocoLayout found;
  std::error_code code;
  for (const std::string& file : files_in(root / "annotations")) {
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
    const auto folder = std::find_if(folders.begin(), folders.end(), [&](const std::string& one) {
      return fs::is_directory(root / one, code);
    });
    const bool all = may_be_all && folder != folders.end() && *folder == "images";
    if (folder != folders.end())
      found.parts.push_back({all ? "" : split_for(*name), *folder, path});
    else if (!name->empty())
      found.without_folder.push_back(path);
  }
  for (const std::string& folder : folders_in(root)) {
    if (fs::is_regular_file(root / folder / kInFolder, code))
      found.parts.push_back({split_for(folder), folder, folder + "/" + kInFolder});
  }
  std::sort(found.parts.begin(), found.parts.end(),
            [](const Part& a, const Part& b) { return a.split < b.split; });
  find_captions(found);
  return found;
}

/// Folders of images that are named like splits and that no annotation file is about.
std::vector<std::string> left_out(const fs::path& root, const std::vector<Part>& parts) {
  std::vector<std::string> left;
  for (const char* above : {"", "images"}) {
    for (const std::string& name : folders_in(root / above)) {
      const std::string folder = naming::join(above, name);
      const bool used = std::any_of(parts.begin(), parts.end(), [&](const Part& part) {
        return part.folder == folder || folder.starts_with(part.folder + '/');
      });
      if (!used && !split_named(name).empty() && holds_image_names(root / folder))
        left.push_back(folder);
    }
  }
  return left;
}

class CocoFolder final : public AnnotatedFolder {
 public:
  explicit CocoFolder(const fs::path& path) : AnnotatedFolder(path), found_(find_coco(path)) {
    targets_.notation = TargetOptions::Notation::kCoco;
    for (const Part& part : found_.parts)
      if (!targets_.files.emplace(part.split, path / part.file).second)
        refuse("two annotation files are for one split, " +
               (part.split.empty() ? std::string("the whole") : part.split));
    if (found_.parts.empty())
      throw Error(ErrorKind::kUsage, "there is no annotation file of COCO whose images are there",
                  path,
                  "name the file: --targets coco:FILE; for one split alone: --targets "
                  "val=coco:FILE");
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
    for (const Part& part : found_.parts)
      inside.split_folders->push_back({part.split, part.folder});
    Listing listing = folder_->list(inside);
    for (const std::string& folder : left_)
      listing.notes.push_back("'" + printable(folder) +
                              "' is left out: no annotation file is about its images");
    if (!found_.others.empty())
      listing.notes.push_back("not read: " + naming::quoted(found_.others) +
                              "; objects with key points are packed with --targets coco:FILE and "
                              "such a file");
    std::vector<std::string> told;
    for (const Part& part : found_.parts)
      told.push_back(fmt::format(
          "{}{}{} for {}", part.split.empty() ? "" : part.split + ": ", printable(part.file),
          found_.all_have_captions() ? " and captions" : "", printable(part.folder)));
    listing.detected = fmt::format("COCO's annotations: {}", fmt::join(told, ", "));
    return listing;
  }

 private:
  /// Refuses a layout that is not clear, with the command that says what is meant.
  [[noreturn]] void refuse(const std::string& what) const {
    std::string command = "packhorse pack " + naming::shell_word(root().native()) + " OUT";
    std::string folders;
    std::vector<std::string> there;
    for (const Part& part : found_.parts) {
      if (std::find(there.begin(), there.end(), part.split) != there.end()) continue;
      if (part.split.empty() && !found_.parts.back().split.empty()) continue;
      there.push_back(part.split);
      const std::string head = part.split.empty() ? "" : part.split + "=";
      command += " --targets " + naming::shell_word(head + "coco:" + (root() / part.file).native());
      folders += (folders.empty() ? "" : ",") + head + part.folder;
    }
    throw Error(ErrorKind::kUsage, "the folder looks like COCO's, but " + what, root(),
                "say which files are meant: " + command + " --split-folders " +
                    naming::shell_word(folders) + "; --source-kind folder packs images alone");
  }

  CocoLayout found_;
  std::vector<std::string> left_;
};

}  // namespace

bool probe(const fs::path& path) {
  const CocoLayout found = find_coco(path);
  return !found.parts.empty() || !found.without_folder.empty();
}

std::unique_ptr<Source> open(const fs::path& path) { return std::make_unique<CocoFolder>(path); }

}  // namespace packhorse::coco
