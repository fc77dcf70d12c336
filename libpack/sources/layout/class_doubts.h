#pragma once

#include "sources/layout/layout.h"

namespace packhorse {

/// Adds to `layout` what speaks against its classes, the gravest first: inputs outside the one
/// shape whose class folders can only be classes, and classes that look like something else.
/// Nothing about classes where the options say them.
void doubt_classes(Layout& layout, const Tree& tree, const SourceContents& contents,
                   const ListOptions& options, const std::filesystem::path& source);

/// The same where the labels of "train" are given, once the listing has its labels: classes of
/// other splits that "train" lacks.
void doubt_given_labels(Listing& listing, const Layout& layout, const ListOptions& options);

}  // namespace packhorse
