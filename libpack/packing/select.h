#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packhorse/base/progress.h"
#include "packhorse/packing/pack.h"
#include "sources/source.h"

/// Decides which of the listed samples are packed, and into which split; runs between listing and
/// planning. Every choice depends only on the source's content, the options and the seed. A sample
/// that is left out becomes a Skip with its rule, so seen = packed + rejected + skipped still
/// holds.
///
///     select(*source, listing, {.limit = 1000}, progress);
namespace packhorse {

inline constexpr std::array<std::pair<std::string_view, SelectOptions::Duplicates>, 2>
    kDuplicatesNames = {{{"report", SelectOptions::Duplicates::kReport},
                         {"drop", SelectOptions::Duplicates::kDrop}}};

struct Selection {
  std::vector<DuplicateGroup> duplicates;  ///< by the path of the first member
  std::vector<std::string> notes;          ///< for the summary
};

/// Applies the options to `listing` in place, in the order above. Reads contents only for
/// duplicates (files of equal size) and for a split (all files). Throws Error(kUsage) when a split
/// is asked of a source that already has splits, Error(kInterrupted).
Selection select(const Source& source, Listing& listing, const SelectOptions& options,
                 Progress& progress);

}  // namespace packhorse
