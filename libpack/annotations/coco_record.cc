#include "annotations/coco_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "packhorse/base/error.h"
#include "packhorse/base/json.h"

namespace packhorse {

std::string coco_record(const CocoFile& file, const CocoFile::Image& image) {
  return fmt::format(R"({{"image":{},"annotations":[{}]}})", image.json,
                     fmt::join(file.annotations_of(image), ","));
}

MaskSize add_record_objects(std::string_view record, const CocoFile& file, ObjectBuilder& builder) {
  try {
    const auto json = parse_json(record);
    const auto& image = json.at("image");
    MaskSize size;
    if (image.contains("height") || image.contains("width"))
      size = {image.at("height").get<std::uint32_t>(), image.at("width").get<std::uint32_t>()};
    for (const auto& annotation : json.at("annotations").get_ref<const ExactJson::array_t&>())
      file.add_object(annotation, builder);
    return size;
  } catch (const ExactJson::exception& error) {
    throw Error(ErrorKind::kCorrupt, "its annotations: " + json_problem(error));
  }
}

}  // namespace packhorse
