#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace packhorse {

struct CocoCaption {
  std::string file_name;  ///< of its image
  std::string text;       ///< one line: other blanks are spaces
};

/// The captions in a COCO annotation file (https://cocodataset.org/#format-data), which needs no
/// categories; in the order of the images, and of the file. An image without one gets an empty
/// caption. Throws Error(kUsage), naming the file, when it is no such file, an image has no name,
/// an annotation has no image or no caption.
std::vector<CocoCaption> read_coco_captions(const std::filesystem::path& path);

}  // namespace packhorse
