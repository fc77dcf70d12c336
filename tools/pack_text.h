#pragma once

#include <string>

#include "common/program.h"
#include "packhorse/pack.h"

/// What `packhorse pack` says of its report.
namespace packhorse {

program::Json to_json(const PackReport& report);
std::string to_words(const PackReport& report, const PackOptions& options);
/// One JSON object a line: {"event": "reject" | "skip" | "duplicate", ...}.
std::string pack_log_text(const PackReport& report);

}  // namespace packhorse
