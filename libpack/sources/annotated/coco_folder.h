#pragma once

#include "packhorse/sources/source.h"

namespace packhorse {

/// Folders of images with COCO's files: `annotations/instances_NAME.json` for the images in NAME or
/// images/NAME, `annotations/instances.json` for those in images, or `_annotations.coco.json` in
/// the folder of each split. Captions are read where each of these has a `captions_NAME.json`
/// beside it.
namespace coco {
bool probe(const std::filesystem::path& path);
std::unique_ptr<Source> open(const std::filesystem::path& path);
}  // namespace coco

inline constexpr SourceKind kCocoSource = {
    .name = "coco",
    .summary = "a folder of images and COCO's annotations/instances_*.json",
    .probe = coco::probe,
    .open = coco::open,
    .has_annotation_file = true};

}  // namespace packhorse
