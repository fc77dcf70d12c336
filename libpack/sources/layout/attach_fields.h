#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "listing/listing.h"
#include "sources/fields/field_set.h"
#include "sources/layout/layout.h"

namespace packhorse {

/// The fields found for an image, by their numbers.
using FoundFields = std::vector<std::pair<std::size_t, const FieldFile*>>;

/// Gives all entries of `listing` those of the `fields` that lie elsewhere. Sets their
/// Facts::fields and field_bytes; `take` does what else the source needs. Entries that lack a
/// required field become rejects, files of no image skips; what lacks an optional one is noted. Of
/// several files with one path, the last counts. Entries whose field would lie in one of the
/// `unreadable` folders become rejects, even where the field is optional. Throws Error(kUsage) when
/// a field occurs nowhere, and when images that differ in more than their extension would share a
/// file.
void attach_fields(Listing& listing, const Layout& layout, const FieldSet& fields,
                   std::vector<FieldFile> files, const std::filesystem::path& source,
                   const std::function<void(EntryTable::Facts&, const FoundFields&)>& take,
                   const UnreadableFolders& unreadable = {});

/// All fields that occur in a listing, as EntryTable::Facts::fields.
std::uint32_t fields_in(const Listing& listing);

}  // namespace packhorse
