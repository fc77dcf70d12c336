#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/base/progress.h"

namespace packhorse {

struct CopyOptions {
  int jobs = 0;  ///< files copied at once; 0 = as many as the process may use, at least 4
  /// From one URL to another: the directory for files in between, instead of staging_path().
  std::filesystem::path staging = {};
};

struct CopyReport {
  std::uint64_t files = 0, bytes = 0;  ///< of the dataset, or of all splits
  std::uint64_t kept = 0;              ///< files that an interrupted copy had brought
  std::uint64_t samples = 0;
  std::vector<std::string> notes = {};  ///< what the user should know, in words
};

/// Copies a packed dataset, or a directory of splits, byte for byte, between disks and URLs: to a
/// disk near the processors before training, into a bucket, and back. Each file is compared with
/// the size and the SHA-256 that the manifest names; one that differs is fetched once more when it
/// comes from a URL. `to` appears in one rename, at a URL with its dataset.json, once all is there.
/// The same call goes on with an interrupted copy.
///
/// Throws Error(kExists) when `to` exists or a file at the URL would be replaced; Error(kCorrupt)
/// for a file that is not the one in the manifest; and what unpack() and pack() throw.
CopyReport copy_dataset(const std::filesystem::path& from, const std::filesystem::path& to,
                        const CopyOptions& options = {}, Progress* progress = nullptr,
                        std::stop_token stop = {});

}  // namespace packhorse
