#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace packhorse {

/// Throws Error(kUsage) for images that have texts beside them, x.txt, x.json or x.xml for x.jpg,
/// in the folder itself or in folders of splits, where there are no other folders and nothing says
/// what they are: with the command for what they look like. Other folders it passes over.
void refuse_texts_beside_images(const std::filesystem::path& source);

/// Whether a text is lines of YOLO, for some classes.
bool is_yolo_text(const std::string& text);

/// The file that names the classes of YOLO's labels, by its usual name: beside one of them, or in
/// the source.
std::optional<std::filesystem::path> yolo_class_file(const std::filesystem::path& source,
                                                     const std::filesystem::path& labels);

}  // namespace packhorse
