#pragma once

#include <filesystem>

namespace packhorse {

/// Throws Error(kUsage) for images that have texts beside them, x.txt, x.json or x.xml for x.jpg,
/// in the folder itself or in folders of splits, where there are no other folders and nothing says
/// what they are: with the command for what they look like. Other folders it passes over.
void refuse_texts_beside_images(const std::filesystem::path& source);

}  // namespace packhorse
