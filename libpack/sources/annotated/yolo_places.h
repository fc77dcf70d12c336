#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "annotations/data_yaml.h"

namespace packhorse {

/// Where the images of a split lie in the source.
struct YoloPlaces {
  std::string split;
  std::vector<std::string> folders = {};  ///< paths in the source, clean; "" = the source itself
  std::vector<std::string> lists = {};    ///< the same of .txt files
};

/// Finds the places that a data.yaml names in `source`. Globs stand for what is there. Adds to
/// `notes` what was not as it is written. Throws Error(kUsage) for a place that is not there, or
/// leads out of the source.
std::vector<YoloPlaces> find_yolo_places(const DataYaml& data, const std::filesystem::path& file,
                                         const std::filesystem::path& source,
                                         std::vector<std::string>& notes);

/// The path in `source` that a text means which is relative to `folder` in it, or absolute, by the
/// text alone. Nothing when it leads out of the source.
std::optional<std::string> path_inside(const std::filesystem::path& source,
                                       const std::filesystem::path& folder,
                                       const std::string& text);

}  // namespace packhorse
