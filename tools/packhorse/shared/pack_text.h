#pragma once

#include <string>

#include "common/program.h"
#include "packhorse/packing/pack.h"

/// Puts the reports of `packhorse pack` and `packhorse index` into words.
namespace packhorse {

program::Json to_json(const PackReport& report);
std::string to_words(const PackReport& report, const PackOptions& options);
/// The notes of to_words() alone: what a quiet run still says.
std::string notes_in_words(const PackReport& report);
/// One JSON object a line: {"event": "reject" | "skip" | "duplicate", ...}.
std::string pack_log_text(const PackReport& report);
/// Prints the first rejects on stderr.
void print_rejects(const PackReport& report);

/// Parses --fields: "json,seg.png"; "none" is an empty list. Throws Error(kUsage).
std::vector<std::string> parse_fields(const std::string& text);

}  // namespace packhorse
