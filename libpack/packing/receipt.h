#pragma once

#include <filesystem>
#include <string>

#include "packing/pack_shard.h"

/// A receipt says what a finished shard in the staging directory was made from and what came of it,
/// so that another run can keep it:
///
///     OUT.partial/receipts/<split>/shard-000007.json
namespace packhorse {

/// `inputs`: names everything the shard's bytes depend on, but for the version of packhorse, which
/// the receipt names as well. `may_change`: something was rejected for
/// what the file system said, so that another try may end differently.
void write_receipt(const std::filesystem::path& receipt, const std::string& inputs,
                   const ShardOutcome& outcome, bool may_change);

/// Fills `outcome`, whose record names the files in `data`, and returns true if the shard was made
/// from the same inputs by this version, and its files are there with the same SHA-256. Made by
/// another version, only `outcome.other_version` is filled. A damaged receipt counts for nothing.
bool read_receipt(const std::filesystem::path& receipt, const std::string& inputs,
                  const std::filesystem::path& data, ShardOutcome& outcome);

}  // namespace packhorse
