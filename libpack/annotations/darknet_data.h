#pragma once

#include <filesystem>
#include <string_view>

#include "annotations/data_yaml.h"

namespace packhorse {

/// Reads Darknet's obj.data (https://github.com/AlexeyAB/darknet), as CVAT's "YOLO 1.1" has it:
///
///     classes = 2
///     train = data/train.txt
///     valid = data/test.txt
///     names = data/obj.names
///
/// Its paths are relative to the folder that the file lies in, which some call data. Throws
/// Error(kUsage), with its path and perhaps a line, for what is missing or contradicts itself, and
/// Error(kNotFound | kIo).
DataYaml read_darknet_data(const std::filesystem::path& file);

/// The path without a folder `data` at its begin; empty where it begins otherwise.
std::string_view without_data_folder(std::string_view path);

}  // namespace packhorse
