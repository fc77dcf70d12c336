#pragma once

#include <string>
#include <vector>

#include "bench/run.h"

namespace packhorse::bench {

/// What people see: for each section its rates and where the time went, for each sweep its knee,
/// and where there are several sections a table of all.
std::string report_text(const Request& request, const std::vector<Run>& runs);

}  // namespace packhorse::bench
