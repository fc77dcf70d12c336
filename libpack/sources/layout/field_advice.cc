#include "sources/layout/field_advice.h"

#include <algorithm>

#include "base/ascii.h"
#include "listing/names.h"
#include "packhorse/base/printable.h"

namespace packhorse {

namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kMostLookedAt = 10'000;  ///< files: an example is enough

bool lies_in(std::string_view path, const std::string& folder) {
  return path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/';
}

/// The first files in a folder, images or not.
Names files_in(const SplitListing& split, const std::string& folder) {
  Names files;
  for (std::size_t i = 0; i < split.entries.size() && files.size() < kMostLookedAt; ++i)
    if (lies_in(split.entries.directory_of(i).empty() ? "" : split.entries.path_of(i), folder))
      files.push_back(split.entries.path_of(i));
  for (const Skip& skip : split.skips) {
    if (files.size() == kMostLookedAt) break;
    if (skip.rule == naming::kNotAnImage && lies_in(skip.path, folder)) files.push_back(skip.path);
  }
  return files;
}

/// What follows the image's name in that of its file: "_mask.png" for 1.jpg and 1_mask.png; empty
/// where the names have nothing in common.
std::string ending_of(const SplitListing& split, const Names& files, const std::string& folder) {
  for (std::size_t i = 0; i < std::min(split.entries.size(), kMostLookedAt); ++i) {
    const std::string path = split.entries.path_of(i);
    if (lies_in(path, folder)) continue;
    const std::string_view name = naming::last_name(path);
    const std::string_view stem = name.substr(0, name.rfind('.'));
    for (const std::string& file : files) {
      const std::string_view other = naming::last_name(file);
      if (other.starts_with(stem) && other.size() > stem.size())
        return std::string(other.substr(stem.size()));
    }
  }
  return {};
}

/// "mask.png" for files with the extension of an image, else the extension.
std::string field_name(const std::string& file, Names& taken) {
  const std::string extension = lower_case(file.substr(file.rfind('.') + 1));
  const std::string image = naming::has_any_image_name(file) ? "mask" : "";
  std::string name = image.empty() ? extension : image + '.' + extension;
  for (int i = 2; std::find(taken.begin(), taken.end(), name) != taken.end(); ++i)
    name = (image.empty() ? "field" : image) + std::to_string(i) + '.' + extension;
  taken.push_back(name);
  return name;
}

}  // namespace

std::string field_options(const SplitListing& split, const Layout::Root& root,
                          const std::vector<FieldFolder>& folders) {
  const bool named = !root.split_folder.empty() && split.origin == root.split_folder;
  std::string options;
  Names taken;
  for (const FieldFolder& one : folders) {
    const Names files = files_in(split, one.folder);
    if (files.empty() || naming::last_name(files.front()).rfind('.') == std::string_view::npos)
      continue;
    const std::string ending = ending_of(split, files, one.folder);
    std::string place =
        naming::join(named ? "{split}" : printable(split.origin), printable(one.place));
    if (!ending.empty() && ending.front() != '.') place += "/{stem}" + printable(ending);
    options += (options.empty() ? "" : " ") + ("--field-from " + field_name(files.front(), taken)) +
               '=' + place;
  }
  return options;
}

}  // namespace packhorse
