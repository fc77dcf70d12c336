#pragma once

#include <string>
#include <vector>

#include "sources/layout/layout.h"

namespace packhorse {

/// What takes the annotations in a folder of images: the options that pack them, each with what it
/// packs, as advice has it. Each has been tried on the folder: it lists all images without a
/// reject, and the first of them have objects. None for an archive or a bucket, and where the
/// options say already what is read.
std::vector<std::string> annotated_readings(const Layout& layout, const SourceContents& contents,
                                            const ListOptions& options,
                                            const std::filesystem::path& source);

}  // namespace packhorse
