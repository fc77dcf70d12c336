#pragma once

#include "packhorse/packing/pack.h"
#include "packhorse/packing/pack_status.h"
#include "reports/report_json.h"

namespace packhorse {

/// What `packhorse pack --json` and `packhorse index --json` print.
ReportJson to_json(const PackReport& report);
ReportJson to_json(const DuplicateGroup& group);
/// What `packhorse pack --status --json` prints.
ReportJson to_json(const PackStatus& status);

/// One JSON object a line: {"event": "reject" | "skip" | "duplicate", ...}. What --log writes.
std::string pack_log_text(const PackReport& report);

/// The class of a label; a label without one stays a number.
std::string class_of(const PackReport& report, std::int64_t label);

}  // namespace packhorse
