#pragma once

#include <string>
#include <string_view>

#include "annotations/coco_file.h"

namespace packhorse {

/// What one of COCO's files says of an image, as a JSON object of its own, its parts as written
/// there: {"image": {...}, "annotations": [{...}, ...]}.
std::string coco_record(const CocoFile& file, const CocoFile::Image& image);

/// Adds the objects of such a record, whose categories are those of `file`. Returns the image's
/// size as it says, 0 x 0 where it says none. Throws Error(kCorrupt).
MaskSize add_record_objects(std::string_view record, const CocoFile& file, ObjectBuilder& builder);

}  // namespace packhorse
