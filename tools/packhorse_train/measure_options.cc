#include "common/checks.h"
#include "recipe_options.h"

namespace packhorse::trainer {

void PassOptions::add_options(CLI::App& app) {
  app.add_option("--repeats", defaults_.repeats,
                 "Passes of each kind, interleaved; figures are medians")
      ->capture_default_str();
  app.add_option("--max-seconds", defaults_.max_seconds, "Length of a timed pass, in seconds")
      ->capture_default_str();
  app.add_option("--steps", defaults_.steps,
                 "Timed training steps of a pass, if those are shorter; 0: no limit")
      ->capture_default_str();
  app.add_option("--warmup-steps", defaults_.warmup_steps, "Untimed batches before each pass")
      ->capture_default_str();
  app.add_option("--simulated-device", defaults_.simulated_device,
                 "Simulate a device that trains this many images/s, without using a core, instead "
                 "of running the network")
      ->check(program::positive());
}

void PassOptions::put_into(MeasureOptions& options) const {
  options.simulated_device = defaults_.simulated_device;
  options.repeats = defaults_.repeats;
  options.max_seconds = defaults_.max_seconds;
  options.steps = defaults_.steps;
  options.warmup_steps = defaults_.warmup_steps;
}

}  // namespace packhorse::trainer
