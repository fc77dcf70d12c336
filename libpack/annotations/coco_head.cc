#include "annotations/coco_head.h"

#include <algorithm>
#include <optional>

#include "annotations/json_values.h"
#include "base/json.h"
#include "base/json_slices.h"
#include "base/printable.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

[[noreturn]] void refuse_categories(const std::string& what) {
  throw Error(ErrorKind::kUsage, what);
}

/// Numbers by their values, so that 9 comes before 10, and before all texts.
bool by_id(const CocoCategory& a, const CocoCategory& b) {
  const ExactJson x = parse_json(id_of(a.id)), y = parse_json(id_of(b.id));
  return x < y;
}

CocoCategory read_category(std::string_view json) {
  const std::string_view id = json_member(json, "id");
  const std::string_view name = json_member(json, "name");
  if (id.empty() || !name.starts_with('"')) refuse_categories("a category has no id or no name");
  CocoCategory category{std::string(id), json_characters(name), {}};
  const std::string_view keypoints = json_member(json, "keypoints");
  if (!keypoints.starts_with('[')) return category;
  for_each_element(keypoints, [&](std::string_view point) {
    if (!point.starts_with('"')) refuse_categories("a key point's name is not a text");
    category.keypoints.push_back(json_characters(point));
  });
  return category;
}

/// One of the values that is there more than once.
std::optional<std::string> repeated(std::vector<std::string> values) {
  std::ranges::sort(values);
  const auto twice = std::ranges::adjacent_find(values);
  return twice == values.end() ? std::nullopt : std::optional(printable(*twice));
}

}  // namespace

std::vector<CocoCategory> read_coco_categories(std::string_view array) {
  if (!array.starts_with('[')) refuse_categories("there is no list of categories");
  std::vector<CocoCategory> categories;
  for_each_element(array,
                   [&](std::string_view json) { categories.push_back(read_category(json)); });
  std::vector<std::string> ids, names;
  for (const CocoCategory& category : categories) {
    ids.push_back(id_of(category.id));
    names.push_back(category.name);
  }
  if (const auto id = repeated(std::move(ids)))
    refuse_categories("the category id " + *id + " is there twice");
  if (const auto name = repeated(std::move(names)))
    refuse_categories("two categories are called " + *name);
  std::ranges::stable_sort(categories, by_id);
  return categories;
}

std::vector<std::string> kept_category_ids(std::string_view head, std::size_t classes) {
  std::vector<std::string> ids;
  try {
    check_json(head);
    for (CocoCategory& category : read_coco_categories(json_member(head, "categories")))
      ids.push_back(std::move(category.id));
    if (ids.size() != classes)
      throw Error(ErrorKind::kCorrupt, "it has other categories than the dataset");
  } catch (const Error& error) {
    throw Error(ErrorKind::kCorrupt,
                std::string("what the manifest keeps of COCO's file is damaged: ") + error.what(),
                {}, "do not trust this dataset");
  }
  return ids;
}

}  // namespace packhorse
