#include "sources/layout/tree_without_fields.h"

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
  return fields_.covers(path) ||
         (fields_.spells(path) && !tree_.holds_images_below(path, Told::kByNameOrBytes));
}

}  // namespace packhorse
