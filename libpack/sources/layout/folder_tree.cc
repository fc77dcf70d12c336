#include "sources/layout/folder_tree.h"

#include "listing/names.h"

namespace packhorse {

namespace {

using naming::directory_of;

void insert(std::set<std::string, std::less<>>& set, std::string_view text) {
  if (!set.contains(text)) set.emplace(text);
}

/// Whether `set` has `folder` or a path below it.
bool has_below(const std::set<std::string, std::less<>>& set, const std::string& folder) {
  if (folder.empty()) return !set.empty();
  if (set.contains(folder)) return true;
  const auto first = set.lower_bound(folder + '/');
  return first != set.end() && first->starts_with(folder + '/');
}

}  // namespace

void PathTree::add_image(std::string_view path) {
  const std::string_view directory = directory_of(path);
  if (!with_images_.contains(directory)) {
    add_other(path);
    with_images_.emplace(directory);
  }
  if (naming::has_any_image_name(path)) insert(with_image_names_, directory);
}

void PathTree::add_other(std::string_view path) {
  for (std::string_view folder = directory_of(path); !folder.empty() && !folders_.contains(folder);
       folder = directory_of(folder)) {
    folders_.emplace(folder);
  }
}

std::vector<std::string> PathTree::folders(const std::string& folder) const {
  const std::string prefix = folder.empty() ? "" : folder + '/';
  std::vector<std::string> names;
  auto it = folders_.lower_bound(prefix);
  while (it != folders_.end() && it->starts_with(prefix)) {
    const std::size_t slash = it->find('/', prefix.size());
    if (slash == std::string::npos) {
      names.push_back((it++)->substr(prefix.size()));
    } else {  // skip everything in that folder
      it = folders_.lower_bound(it->substr(0, slash) + static_cast<char>('/' + 1));
    }
  }
  return names;
}

bool PathTree::holds_images(const std::string& folder) const {
  return with_images_.contains(folder);
}

bool PathTree::holds_images_below(const std::string& folder, Told told) const {
  return has_below(told == Told::kByName ? with_image_names_ : with_images_, folder);
}

}  // namespace packhorse
