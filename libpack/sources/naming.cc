#include "sources/naming.h"

#include <algorithm>
#include <array>

#include "packhorse/error.h"

namespace packhorse::naming {

namespace {

// The names torchvision.datasets.ImageFolder takes, and .jpe/.jfif.
constexpr std::array<std::string_view, 12> kImageNames = {".jpg",  ".jpeg", ".jpe", ".jfif",
                                                          ".png",  ".webp", ".bmp", ".tif",
                                                          ".tiff", ".ppm",  ".pgm", ".pnm"};
constexpr std::array<std::string_view, 5> kSplitNames = {"train", "val", "valid", "validation",
                                                         "test"};

}  // namespace

bool has_image_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  std::string extension(name.substr(dot));
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::find(kImageNames.begin(), kImageNames.end(), extension) != kImageNames.end();
}

std::string join(std::string_view directory, std::string_view name) {
  return directory.empty() ? std::string(name) : std::string(directory) + '/' + std::string(name);
}

std::vector<std::string> split_folders(std::vector<std::string> folders) {
  const bool all = std::all_of(folders.begin(), folders.end(), [](const std::string& name) {
    return std::find(kSplitNames.begin(), kSplitNames.end(), name) != kSplitNames.end();
  });
  if (!all || std::find(folders.begin(), folders.end(), "train") == folders.end()) folders.clear();
  return folders;
}

std::vector<std::string> class_names(const std::vector<std::string>& pinned,
                                     const std::set<std::string>& found,
                                     const std::filesystem::path& source) {
  if (pinned.empty()) return {found.begin(), found.end()};
  for (const std::string& name : found) {
    if (std::find(pinned.begin(), pinned.end(), name) == pinned.end()) {
      throw Error(ErrorKind::kUsage, "the class list does not name the class folder '" + name + "'",
                  source, "add it to the list, or move the folder out of the source");
    }
  }
  return pinned;
}

std::unordered_map<std::string, std::int64_t> labels_of(const std::vector<std::string>& classes) {
  std::unordered_map<std::string, std::int64_t> labels;
  for (const std::string& name : classes) {
    labels.emplace(name, static_cast<std::int64_t>(labels.size()));
  }
  return labels;
}

void refuse_empty(const Listing& listing, const std::filesystem::path& source,
                  const std::string& advice) {
  std::size_t entries = 0, rejects = 0;
  for (const SplitListing& split : listing.splits) {
    entries += split.entries.size();
    rejects += split.rejects.size();
  }
  if (entries > 0 || rejects > 0) return;
  throw Error(ErrorKind::kNotFound, "the source holds no images", source, advice);
}

}  // namespace packhorse::naming
