#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "common/program.h"
#include "packhorse/image/image_info.h"

namespace packhorse {

/// What is asked of packed datasets by every subcommand that looks into them. Outlives the parts
/// that refer to it.
struct Request {
  std::string path;  ///< as typed: a dataset, or a directory of splits
  int jobs = 0;      ///< threads; 0 = as many as this process may use
  bool json = false;
  ImageLimits limits = {};  ///< of images that are decoded

  /// Declares DATASET, and below what a subcommand has of its own, in a second call, --jobs, --json
  /// and the limits.
  void setup_dataset(CLI::App& app);
  void setup_rest(CLI::App& app);
  /// The datasets of `path`, once the options hold. Throws Error(kUsage | kNotFound).
  std::vector<std::filesystem::path> datasets() const;
};

/// What `--json` prints of several: a dataset alone is its object, a directory of splits
/// {"datasets": [...]}.
program::Json one_object(const Request& request, const std::vector<std::filesystem::path>& paths,
                         const std::vector<program::Json>& objects);

}  // namespace packhorse
