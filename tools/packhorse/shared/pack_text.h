#pragma once

#include <string>

#include "packhorse/packing/pack.h"
#include "packhorse/packing/pack_status.h"

/// Puts the reports of `packhorse pack` and `packhorse index` into words.
namespace packhorse {

std::string to_words(const PackReport& report, const PackOptions& options);
std::string to_words(const PackStatus& status);
/// The notes of to_words() alone: what a quiet run still says.
std::string notes_in_words(const PackReport& report);
/// Prints the first rejects on stderr.
void print_rejects(const PackReport& report);

// Puts what a dry run shows of its plan into words.

/// Skips and rejects by reason, the classes with their numbers of images, and each split with
/// samples. `report.preview` must be set.
std::string preview_text(const PackReport& report, const PackOptions& options);

}  // namespace packhorse
