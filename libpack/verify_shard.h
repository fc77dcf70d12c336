#pragma once

#include <filesystem>
#include <stop_token>
#include <vector>

#include "packhorse/manifest.h"
#include "packhorse/progress.h"
#include "packhorse/verify.h"

namespace packhorse {

/// Checks one shard and its index. Bytes and samples looked at are counted in `progress`. Any
/// thread.
std::vector<Finding> verify_shard(const std::filesystem::path& dataset, const Manifest& manifest,
                                  const ShardRecord& record, VerifyLevel level, Progress& progress,
                                  const std::stop_token& stop);

/// Checks that a file is there, has `bytes` bytes and, with a sum, that SHA-256. Adds what is
/// wrong.
bool verify_file(const std::filesystem::path& dataset, const std::string& file, std::uint64_t bytes,
                 const std::string& sum, std::vector<Finding>& findings);

}  // namespace packhorse
