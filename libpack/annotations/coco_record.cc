#include "annotations/coco_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "annotations/coco_object.h"
#include "annotations/json_values.h"
#include "packhorse/base/error.h"

namespace packhorse {

std::string coco_record(const CocoFile& file, const CocoFile::Image& image) {
  return fmt::format(R"({{"image":{},"annotations":[{}]}})", image.json,
                     fmt::join(file.annotations_of(image), ","));
}

MaskSize add_record_objects(std::string_view record, const CocoFile& file, ObjectBuilder& builder) {
  try {
    const ExactJson json = parse_json(record);
    const MaskSize size = coco_size(value_of(json, "image"));
    for (const ExactJson& annotation : list_of(value_of(json, "annotations"), "list"))
      file.add_object(annotation, builder);
    return size;
  } catch (const Error& error) {
    throw Error(ErrorKind::kCorrupt, std::string("its annotations: ") + error.what());
  }
}

}  // namespace packhorse
