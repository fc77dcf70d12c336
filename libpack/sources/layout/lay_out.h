#pragma once

#include <filesystem>

#include "sources/layout/layout.h"

namespace packhorse {

/// The listing of a source's contents, each where the layout says that it belongs. Takes what it
/// needs out of `contents`. Labels are not set where they are given: give_labels() comes next.
Listing lay_out(SourceContents& contents, const Layout& layout, const ListOptions& options,
                const std::filesystem::path& source);

}  // namespace packhorse
