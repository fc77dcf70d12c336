#pragma once

#include "packhorse/packing/pack.h"
#include "packing/publish.h"

namespace packhorse {

/// Describes the planned `splits` of a source whose rejects and skips `report` holds.
PackPreview preview_of(const std::vector<SplitWork>& splits, const std::vector<std::string>& fields,
                       const PackReport& report);

}  // namespace packhorse
