#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace packhorse {

/// Metadata with objects, as Hugging Face's `imagefolder` has it
/// (https://huggingface.co/docs/datasets/image_dataset): a JSON object a line, with "file_name" and
/// "objects". These are lists as long as there are objects, or a list of objects: "bbox" ([x, y,
/// width, height]), "categories" (or "category", "labels", "label": a name or a number each), and
/// whatever else COCO's annotations have ("area", "iscrowd", "segmentation", ...).

/// What is in the lines of a file. Does not throw: of any other file, it is empty.
struct HfMembers {
  bool objects = false;  ///< in any line
  bool label = false;    ///< in the first line, which makes it a table of labels
};
HfMembers hf_members(const std::filesystem::path& file);

/// The names of the categories in these files, sorted. Throws Error(kUsage) where they are numbers.
std::vector<std::string> hf_class_names(const std::vector<std::filesystem::path>& files);

/// The text of COCO's file that says the same: an image for each line, with "width" and "height" if
/// the line has them and all else as "metadata", and categories from 0. Throws Error(kUsage),
/// naming the line, for one that is no such object.
/// Memory: about the size of the file.
std::string coco_of_hf_metadata(const std::filesystem::path& file,
                                const std::vector<std::string>& classes);

}  // namespace packhorse
