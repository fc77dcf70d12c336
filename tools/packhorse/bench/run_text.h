#pragma once

#include <string>
#include <vector>

#include "bench/run.h"

namespace packhorse::bench {

/// The report for people: rates and stage times of each section, the knee of each sweep and, with
/// several sections, a table of all.
std::string report_text(const Request& request, const std::vector<Run>& runs);

}  // namespace packhorse::bench
