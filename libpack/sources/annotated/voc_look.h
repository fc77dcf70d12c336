#pragma once

#include <stop_token>

#include "packhorse/sources/source.h"

namespace packhorse {

/// Looks at the XML files of all images, as what one of them means depends on the others: sets
/// TargetOptions::voc_from_zero where a corner of any box is 0, and the classes, sorted, where none
/// are given. Both become notes. A damaged file is passed over: its image is rejected when it is
/// packed. Throws Error(kUsage) for text in an encoding that is not known, and where no annotation
/// names a class; what Source::read_field() throws is passed over.
void look_at_voc(const Source& source, Listing& listing, const std::stop_token& stop,
                 TargetOptions& targets);

}  // namespace packhorse
