#pragma once

#include <filesystem>

#include "archive/payloads.h"
#include "sources/fields/field_set.h"
#include "sources/layout/source_contents.h"

namespace packhorse {

/// Goes through file `file` of `payloads` and the archives directly in it. Keeps images and
/// whatever could be one of an image's `fields`, and decides about every other member. Sets the
/// images' fields that lie beside them. NumPy files behind another image are none (leave_out()),
/// and are not kept; images that match `excluded` do not count. `memory`: for the images.
SourceContents read_contents(Payloads& payloads, std::uint32_t file,
                             const std::filesystem::path& path, const FieldSet& fields,
                             const std::vector<std::string>& excluded = {},
                             const std::shared_ptr<EntryMemory>& memory = nullptr);

}  // namespace packhorse
