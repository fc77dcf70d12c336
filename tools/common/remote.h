#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "packhorse/reader/metrics.h"
#include "packhorse/storage/remote.h"
#include "storage/dataset/remote_table.h"

namespace packhorse::program {

inline constexpr const char* kRemoteGroup = "Datasets at URLs (https, s3)";

/// Datasets at URLs on the command line: --cache and its size, and how storage is spoken to.
class RemoteArguments {
 public:
  enum class Cache : std::uint8_t {
    kOffered,  ///< and used, unless --no-cache is given
    kNever,    ///< for what must be fetched each time
  };
  /// Declares the options.
  void setup(CLI::App& app, Cache cache = Cache::kOffered);
  /// Lets datasets at URLs be opened; `paths` are what the command was given to read. Returns
  /// whether one of them is a URL. Throws Error(kUsage) for options that change nothing, as none
  /// is, unless `anyway`: what is read may name URLs.
  bool enable(const std::vector<std::string>& paths, bool anyway = false) const;

 private:
  std::vector<std::pair<const RemoteOption*, const CLI::Option*>> declared_;
  const CLI::Option* no_cache_option_ = nullptr;
  bool no_cache_ = false;
};

/// What was fetched so far, for Prometheus and TensorBoard. Thread-safe.
std::vector<reader::MetricFamily> remote_metrics();

}  // namespace packhorse::program
