#pragma once

#include "packhorse/sources/source.h"

namespace packhorse {

/// Images with labels of YOLO, and the data.yaml that names both: the file itself, or a folder that
/// holds it.
namespace yolo {
bool probe(const std::filesystem::path& path);
std::unique_ptr<Source> open(const std::filesystem::path& path);
/// The images in the folder `source` that the file `data` names.
std::unique_ptr<Source> open(const std::filesystem::path& source,
                             const std::filesystem::path& data);
}  // namespace yolo

inline constexpr SourceKind kYoloSource = {
    "yolo", "a data.yaml of YOLO, or the folder that holds it", yolo::probe, yolo::open};

}  // namespace packhorse
