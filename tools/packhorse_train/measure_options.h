#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "packhorse/trainer/measure/measure.h"

/// What measure and sweep have in common on the command line.
namespace packhorse::trainer {

/// --repeats, --steps, --warmup-steps, --max-seconds, --simulated-device.
class PassOptions {
 public:
  void add_options(CLI::App& app);
  void put_into(MeasureOptions& options) const;

 private:
  MeasureOptions defaults_;
};

/// A line on stderr that is written over, where that is a terminal.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  void show(const std::string& text) const;
  void clear() const;

 private:
  bool terminal_;
};

}  // namespace packhorse::trainer
