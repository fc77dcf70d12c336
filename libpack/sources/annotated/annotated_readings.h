#pragma once

#include <string>
#include <vector>

#include "sources/layout/layout.h"
#include "sources/source.h"

namespace packhorse {

/// What takes the annotations in a folder of images: the options that pack them, each with what it
/// packs, as advice has it. Each has been tried on the folder: it lists all images without a
/// reject, and the first of them have objects. None for an archive or a bucket, and where the
/// options say already what is read.
std::vector<std::string> annotated_readings(const Layout& layout, const SourceContents& contents,
                                            const ListOptions& options,
                                            const std::filesystem::path& source);

/// Looks at the XML files of all images, as what one of them means depends on the others: sets
/// TargetOptions::voc_from_zero where a corner of any box is 0, and the classes, sorted, where none
/// are given. Both become notes. A damaged file is passed over: its image is rejected when it is
/// packed. Throws Error(kUsage) for text in an encoding that is not known, and where no annotation
/// names a class; what Source::read_field() throws is passed over.
void look_at_voc(const Source& source, Listing& listing, TargetOptions& targets);

}  // namespace packhorse
