#pragma once

#include <string>

#include "packhorse/packing/pack.h"

/// Puts what a dry run shows of its plan into words.
namespace packhorse {

/// Skips and rejects by reason, the classes with their numbers of images, and each split with
/// samples. `report.preview` must be set.
std::string preview_text(const PackReport& report, const PackOptions& options);

}  // namespace packhorse
