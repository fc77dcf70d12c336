#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace packhorse {

/// What YOLO's data.yaml says (https://docs.ultralytics.com/datasets/detect). Its other members,
/// such as "download", are passed over.
struct DataYaml {
  std::string path;  ///< the folder that the splits' places are in, as written; "" = not said
  struct Split {
    std::string name;                 ///< "train", "val" or "test"
    std::vector<std::string> places;  ///< folders, globs, or .txt lists of images, as written
  };
  std::vector<Split> splits;  ///< in that order
  std::vector<std::string> names;
  std::size_t keypoints = 0, keypoint_numbers = 3;
  bool has_flip_idx = false;
  std::vector<std::string> others;  ///< names of members that are not read
  bool darknet = false;             ///< it is an obj.data: darknet_data.h
  std::vector<std::string> notes;   ///< what was not as it is written
};

/// Throws Error(kUsage) without a path for what is missing or contradicts itself: no names, a
/// number without a name, a name twice, "nc" that is not their number, no split, another kpt_shape
/// than [1 or more, 2 or 3]. Says what is probably wrong with a line, such as a missing blank.
DataYaml parse_data_yaml(std::string_view text);

/// Reads the file. Throws as above, with its path, and Error(kNotFound | kIo).
DataYaml read_data_yaml(const std::filesystem::path& file);

/// Where the labels of an image lie: the last folder `images` of its path becomes `labels`, and
/// its extension txt. Without such a folder they lie beside it.
std::string yolo_labels_path(std::string_view image);

}  // namespace packhorse
