#pragma once

#include <vector>

#include "bench/run.h"
#include "common/program.h"

namespace packhorse::bench {

/// What `--json` prints; docs/bench.md names the fields. Later versions only add fields.
program::Json report_json(const Request& request, const std::vector<Run>& runs);

/// The counters of all runs in Prometheus' text format; labels distinguish the runs.
std::string metrics_text(const Request& request, const std::vector<Run>& runs);

}  // namespace packhorse::bench
