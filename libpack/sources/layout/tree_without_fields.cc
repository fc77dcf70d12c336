#include "sources/layout/tree_without_fields.h"

#include <algorithm>

#include "listing/names.h"

namespace packhorse {

std::vector<std::string> TreeWithoutFields::folders(const std::string& folder) const {
  std::vector<std::string> names = tree_.folders(folder);
  if (!fields_.any_elsewhere()) return names;
  std::erase_if(names,
                [&](const std::string& name) { return leaves_out(naming::join(folder, name)); });
  return names;
}

std::vector<std::string> TreeWithoutFields::left_out(const std::string& folder) const {
  std::vector<std::string> names = tree_.folders(folder);
  std::erase_if(names,
                [&](const std::string& name) { return !leaves_out(naming::join(folder, name)); });
  return names;
}

bool TreeWithoutFields::leaves_out(const std::string& path) const {
  if (fields_.covers(path)) return true;
  return fields_.spells(path) && (!holds_images_below(path, Told::kByNameOrBytes) ||
                                  images_beside(std::string(naming::directory_of(path))));
}

/// Whether `folder` holds images other than in folders that a pattern spells out: then those hold
/// other pictures, such as masks in other colours.
bool TreeWithoutFields::images_beside(const std::string& folder) const {
  if (holds_images(folder)) return true;
  const std::vector<std::string> names = tree_.folders(folder);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const std::string path = naming::join(folder, name);
    return !fields_.covers(path) && !fields_.spells(path) &&
           holds_images_below(path, Told::kByNameOrBytes);
  });
}

}  // namespace packhorse
