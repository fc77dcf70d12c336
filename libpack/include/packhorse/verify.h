#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/progress.h"

namespace packhorse {

enum class VerifyLevel {
  kQuick,  ///< manifest, sums, presence, sizes, indexes; no payload is read
  kFull,  ///< and SHA-256 of every file, XXH3 of every image, every shard walked by its own library
};

/// One thing that is not as it was packed.
struct Finding {
  std::string kind;   ///< "missing", "size", "hash", "payload", "index", "manifest", "structure"
  std::string shard;  ///< the file, relative to the dataset
  std::int64_t sample = -1;  ///< number in the dataset; -1: not about one sample
  std::string key;
  std::uint64_t offset = 0;  ///< of the damaged range in the file, with `length` > 0
  std::uint64_t length = 0;
  std::string detail;  ///< a sentence for people
};

struct VerifyReport {
  std::uint64_t files = 0, samples = 0, bytes = 0;  ///< that were checked
  std::vector<Finding> findings;
  bool ok() const { return findings.empty(); }
};

struct VerifyOptions {
  VerifyLevel level = VerifyLevel::kQuick;
  int jobs = 0;  ///< 0 = as many as the process may use
};

/// Compares a dataset with its own manifest and indexes. Damage is a finding, not an exception.
/// Throws Error(kNotFound) when `dataset` has no dataset.json, Error(kInterrupted).
VerifyReport verify(const std::filesystem::path& dataset, const VerifyOptions& options,
                    Progress* progress = nullptr, std::stop_token stop = {});

}  // namespace packhorse
