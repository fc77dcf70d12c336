#pragma once

#include <vector>

#include "bench/run.h"
#include "common/program.h"

namespace packhorse::bench {

/// What `--json` prints; docs/benchmarks.md names the fields, which are only ever added.
program::Json report_json(const Request& request, const std::vector<Run>& runs);

/// The counters of all runs in Prometheus' text format, told apart by labels.
std::string metrics_text(const Request& request, const std::vector<Run>& runs);

}  // namespace packhorse::bench
