#pragma once

#include <filesystem>
#include <string>

#include "sources/layout/layout.h"

namespace packhorse {

/// What `layout`, which has doubts, could be instead: the readings that the source can have, each
/// as the option that chooses it and what is packed then. Each has been tried on the contents;
/// without one that works, it says how to describe the source.
std::string advice_for(const Layout& layout, const SourceContents& contents,
                       const ListOptions& options, const std::filesystem::path& source);

}  // namespace packhorse
