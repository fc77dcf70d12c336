#pragma once

#include <string>
#include <vector>

#include "bench/request.h"
#include "common/program.h"
#include "measure/knee.h"
#include "packhorse/storage/remote.h"

namespace packhorse::bench {

/// All repeats of one input with one setting.
struct Run {
  std::string input, format, image;  ///< as typed; the dataset's format and --image mode
  std::uint64_t samples = 0;         ///< samples in the dataset
  Section section;
  reader::OrderKind order = reader::OrderKind::kGlobal;
  int workers = 0;
  std::vector<reader::Measurement> passes;
  std::vector<RemoteCounters> remote;  ///< what each pass fetched, where an input lies at a URL

  reader::Spread rate() const;  ///< images a second
  /// The pass with the median rate, for figures that belong together.
  const reader::Measurement& median_pass() const;
};

/// Where the time of a run's threads went, in seconds summed over the threads.
struct Stages {
  double read = 0, decode = 0;
  double slot_wait = 0;      ///< waiting for the consumer to give back a slot
  double rest = 0;           ///< none of these: handing over, ends of epochs
  double consumer_wait = 0;  ///< the consumer's own wait; not in total()
  double total() const { return read + decode + slot_wait + rest; }
};
Stages stages_of(const Run& run);

/// The knee of one input's sweep, with words on where it lies and why.
struct RunKnee {
  const Run* run = nullptr;  ///< the run at the knee
  reader::Knee knee;
  std::string reason;
};

/// Measures what is asked, section by section, with the runs of one in turns: A B C A B C. Shows
/// its progress on a terminal. Throws Error: what cannot be opened or read, kUnsupported where a
/// cold cache is not available, kInterrupted.
std::vector<Run> measure_all(const Request& request);

/// The knees of all inputs in all sections that were measured with several numbers of workers.
std::vector<RunKnee> knees_of(const std::vector<Run>& runs);

/// Runs of one section, in order.
std::vector<const Run*> runs_in(const std::vector<Run>& runs, const Section& section);

/// What `--json` prints; docs/reference/json.md names the fields. Later versions only add fields.
program::Json report_json(const Request& request, const std::vector<Run>& runs);

/// The counters of all runs in Prometheus' text format; labels distinguish the runs.
std::string metrics_text(const Request& request, const std::vector<Run>& runs);

/// The report for people: rates and stage times of each section, the knee of each sweep and, with
/// several sections, a table of all.
std::string report_text(const Request& request, const std::vector<Run>& runs);

}  // namespace packhorse::bench
