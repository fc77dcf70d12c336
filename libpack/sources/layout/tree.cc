#include "sources/layout/tree.h"

#include <algorithm>

#include "listing/names.h"

namespace packhorse {

std::string_view Tree::Folder::name() const { return naming::last_name(path); }

Tree::Tree(const SourceContents& contents, const FieldSet& fields) {
  folders_.emplace_back();
  ids_.emplace("", kRoot);
  for (const std::string& folder : contents.folders) add(folder);
  std::string_view directory;
  Id at = kRoot;
  for (std::size_t i = 0; i < contents.images.size(); ++i) {
    if (const auto one = contents.images.directory_of(i); i == 0 || one != directory)
      at = add(directory = one);
    if (!fields.any_elsewhere() || !fields.may_be_elsewhere(contents.images.path_of(i)))
      ++folders_[at].images;
  }
  for (const SourceContents::Other& other : contents.others) {
    if (!other.rule.empty()) continue;
    const auto folder = ids_.find(other.path);  // one that cannot be read is rejected itself
    Id above = folder != ids_.end() ? folder->second : add(naming::directory_of(other.path));
    for (folders_[above].rejects = true; above != kRoot; above = folders_[above].parent)
      folders_[folders_[above].parent].rejects = true;
  }
  for (Folder& folder : folders_) {
    std::ranges::sort(folder.inside,
                      [this](Id a, Id b) { return folders_[a].path < folders_[b].path; });
  }
  // A folder comes after the one that it lies in.
  for (Id id = static_cast<Id>(folders_.size()); id-- > 0;) {
    folders_[id].below += folders_[id].images;
    if (id != kRoot) folders_[folders_[id].parent].below += folders_[id].below;
  }
  if (fields.any_elsewhere()) mark_fields(kRoot, fields);
}

Tree::Id Tree::add(std::string_view path) {
  const auto known = ids_.find(std::string(path));
  if (known != ids_.end()) return known->second;
  const Id parent = add(naming::directory_of(path));
  const auto id = static_cast<Id>(folders_.size());
  folders_.push_back(
      {.path = std::string(path), .parent = parent, .depth = folders_[parent].depth + 1});
  folders_[parent].inside.push_back(id);
  ids_.emplace(path, id);
  return id;
}

/// A folder whose name a pattern spells out is one of fields, unless it holds images and there are
/// none beside it: then those hold other pictures, such as masks in other colours.
void Tree::mark_fields(Id folder, const FieldSet& fields) {
  const auto spelled = [&](Id id) {
    return fields.covers(folders_[id].path) || fields.spells(folders_[id].path);
  };
  const std::vector<Id>& inside = folders_[folder].inside;
  const bool beside = folders_[folder].images > 0 || std::ranges::any_of(inside, [&](Id id) {
                        return folders_[id].below > 0 && !spelled(id);
                      });
  for (const Id id : inside) {
    folders_[id].of_fields =
        fields.covers(folders_[id].path) || (spelled(id) && (folders_[id].below == 0 || beside));
    mark_fields(id, fields);
  }
}

std::optional<Tree::Id> Tree::find(std::string_view path) const {
  const auto found = ids_.find(std::string(path));
  return found != ids_.end() ? std::optional(found->second) : std::nullopt;
}

std::vector<Tree::Id> Tree::some_in(Id folder, bool holding) const {
  std::vector<Id> some;
  for (const Id id : folders_[folder].inside)
    if (!folders_[id].of_fields && folders_[id].holds() == holding) some.push_back(id);
  return some;
}

std::vector<std::string> Tree::names_of(const std::vector<Id>& folders) const {
  std::vector<std::string> names;
  for (const Id id : folders) names.emplace_back(folders_[id].name());
  return names;
}

}  // namespace packhorse
