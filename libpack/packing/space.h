#pragma once

#include <cstdint>
#include <filesystem>

#include "packhorse/packing/pack.h"
#include "packing/publish.h"

namespace packhorse {

/// The bytes that the shards of these splits and their indexes will take at most, approximately:
/// inputs as they were listed, what the image mode may make of them, and the overhead of format and
/// index.
std::uint64_t estimate_bytes(const std::vector<SplitWork>& splits, const Listing& listing,
                             const PackOptions& options);

/// Throws Error(kNoSpace) with the figures when `bytes` do not fit on the disk of `staging`. Files
/// already in that directory count as done.
void check_space(std::uint64_t bytes, const std::filesystem::path& staging);

}  // namespace packhorse
