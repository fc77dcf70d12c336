#pragma once

#include <cstdint>
#include <filesystem>

#include "packhorse/packing/pack.h"
#include "packing/publish.h"

namespace packhorse {

/// Bytes that the shards of these splits and their indexes may take, at most about: inputs as they
/// were listed, what the image mode may make of them, and what format and index add.
std::uint64_t estimate_bytes(const std::vector<SplitWork>& splits, const Listing& listing,
                             const PackOptions& options);

/// Throws Error(kNoSpace) with the figures when `bytes` do not fit on the disk of `staging`, where
/// what already is in that directory counts as done.
void check_space(std::uint64_t bytes, const std::filesystem::path& staging);

}  // namespace packhorse
