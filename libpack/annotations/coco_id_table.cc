#include "annotations/coco_id_table.h"

#include <utility>

namespace packhorse {

namespace {

constexpr std::uint32_t kManyIds = ~std::uint32_t{0};  // ids of the same characters

std::string characters_of(const std::string& id) {
  return id.starts_with('"') ? id.substr(1, id.size() - 2) : id;
}

}  // namespace

bool CocoIdTable::add(std::string id, std::uint32_t place) {
  return places_.emplace(std::move(id), place).second;
}

void CocoIdTable::index_characters() {
  if (!by_characters_.empty()) return;
  for (const auto& [id, place] : places_) {
    const auto [found, added] = by_characters_.emplace(characters_of(id), place);
    if (!added) found->second = kManyIds;
  }
}

std::optional<CocoIdTable::Found> CocoIdTable::find(const std::string& id) const {
  if (const auto found = places_.find(id); found != places_.end()) return Found{found->second};
  const auto found = by_characters_.find(characters_of(id));
  if (found == by_characters_.end() || found->second == kManyIds) return std::nullopt;
  return Found{found->second, true};
}

}  // namespace packhorse
