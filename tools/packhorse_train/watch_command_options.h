#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "packhorse/trainer/watch/watch_options.h"

namespace packhorse::trainer {

/// --metrics-port, --metrics-address, --trace, --trace-steps.
class WatchCommandOptions {
 public:
  void add_options(CLI::App& app);
  /// Throws Error(kUsage).
  WatchOptions options() const;

 private:
  WatchOptions options_;
  std::optional<std::string> trace_steps_;
};

}  // namespace packhorse::trainer
