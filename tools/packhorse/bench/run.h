#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "bench/request.h"
#include "packhorse/reader/knee.h"

namespace packhorse::bench {

/// All repeats of one input with one setting.
struct Run {
  std::string input, format, image;  ///< as typed; the dataset's format and --image mode
  std::uint64_t samples = 0;         ///< of the dataset
  Section section;
  int workers = 0;
  std::vector<reader::Measurement> passes;

  reader::Spread rate() const;  ///< images a second
  /// The pass in the middle of the field, for the figures that belong together.
  const reader::Measurement& median_pass() const;
};

/// Where the time of a run's threads went, in seconds, summed over them.
struct Stages {
  double read = 0, decode = 0;
  double slot_wait = 0;      ///< for the consumer to give a slot back
  double rest = 0;           ///< none of these: handing over, the ends of epochs
  double consumer_wait = 0;  ///< of the consumer, beside the threads
  double total() const { return read + decode + slot_wait + rest; }
};
Stages stages_of(const Run& run);

/// The knee of one input's sweep, and in words where it lies and why.
struct RunKnee {
  const Run* run = nullptr;  ///< the run at the knee
  reader::Knee knee;
  std::string reason;
};

/// Measures what is asked, section by section, the runs of one in turns: A B C A B C. Says on a
/// terminal what it does. Throws Error: what cannot be opened or read, kUnsupported where cold is
/// not to be had, kInterrupted.
std::vector<Run> measure_all(const Request& request, const std::stop_token& stop);

/// The knees of all inputs in all sections that were measured with several numbers of workers.
std::vector<RunKnee> knees_of(const std::vector<Run>& runs);

/// Runs of one section, in order.
std::vector<const Run*> runs_in(const std::vector<Run>& runs, const Section& section);

}  // namespace packhorse::bench
