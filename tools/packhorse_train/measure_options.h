#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "measure/measure.h"

/// Command-line options shared by measure and sweep.
namespace packhorse::trainer {

/// Declares --repeats, --steps, --warmup-steps, --max-seconds, --simulated-device.
class PassOptions {
 public:
  void add_options(CLI::App& app);
  void put_into(MeasureOptions& options) const;

 private:
  MeasureOptions defaults_;
};

}  // namespace packhorse::trainer
