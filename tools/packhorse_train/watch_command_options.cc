#include "common/checks.h"
#include "common/outputs.h"
#include "recipe_options.h"

namespace packhorse::trainer {

void WatchCommandOptions::add_options(CLI::App& app) {
  auto* port =
      app.add_option(
             "--metrics-port", options_.metrics_port,
             "Serve metrics for Prometheus at http://127.0.0.1:PORT/metrics; 0: a free port")
          ->check(program::in_range(0, 65535));
  app.add_option("--metrics-address", options_.metrics_address,
                 "Serve them at another address of this machine, e.g. 0.0.0.0; without a password")
      ->needs(port)
      ->capture_default_str();
  auto* trace =
      program::add_output(app, "--trace", options_.trace,
                          "Write a trace of some steps to this file, for https://ui.perfetto.dev");
  app.add_option("--trace-steps", trace_steps_,
                 "Number of steps to trace after the first 5 (10), or a range of this call's "
                 "steps, e.g. 20:30")
      ->needs(trace);
}

WatchOptions WatchCommandOptions::options() const {
  WatchOptions options = options_;
  if (trace_steps_) options.trace_steps = StepSpan::parse(*trace_steps_);
  return options;
}

}  // namespace packhorse::trainer
