#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "common/program.h"
#include "common/remote.h"
#include "packhorse/image/image_info.h"

namespace packhorse {

/// The options shared by all subcommands that look into packed datasets. It must outlive the parts
/// that refer to it.
struct Request {
  std::string path;  ///< as typed: a dataset, or a directory of splits
  int jobs = 0;      ///< threads; 0 = as many as this process may use
  bool json = false, quiet = false;
  ImageLimits limits = {};  ///< of images that are decoded
  program::RemoteArguments remote = {};

  /// Declares DATASET. setup_rest() declares --jobs, --json, --quiet (`silences` says what of the
  /// output) and the limits; it comes second so that they stand below the subcommand's own options.
  void setup_dataset(CLI::App& app);
  void setup_rest(CLI::App& app, const char* silences);
  /// The datasets at `path`, after checking the options. `others` are read, too. Throws
  /// Error(kUsage | kNotFound).
  std::vector<std::filesystem::path> datasets(std::vector<std::string> others = {}) const;
};

}  // namespace packhorse
