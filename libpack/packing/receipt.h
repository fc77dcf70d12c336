#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/json.h"
#include "packing/pack_shard.h"

/// A receipt says what a finished shard in the staging directory was made from and what came of it,
/// so that another run can keep it:
///
///     OUT.partial/receipts/<split>/shard-000007.json
namespace packhorse {

/// A receipt lists each reject, and a shard of small files may consist of nothing else.
inline constexpr JsonLimits kReceiptLimits{.bytes = std::size_t{1} << 30};

/// `inputs`: names everything the shard's bytes depend on except the version of packhorse, which
/// the receipt records as well.
void write_receipt(const std::filesystem::path& receipt, const std::string& inputs,
                   const ShardOutcome& outcome);

/// Has the next run keep a shard although something in it was rejected that another try might not
/// reject: it is published so.
void settle_receipt(const std::filesystem::path& receipt);

/// Fills `outcome`, whose record names the files in `data`, and returns true if this version made
/// the shard from the same inputs and its files exist with the same SHA-256; of a data file that is
/// not there, `is_stored`, unless it is empty, says whether it is elsewhere. If another version
/// made it, fills only `outcome.other_version`. A damaged receipt counts as none.
bool read_receipt(const std::filesystem::path& receipt, const std::string& inputs,
                  const std::filesystem::path& data,
                  const std::function<bool(const ShardRecord&)>& is_stored, ShardOutcome& outcome);

}  // namespace packhorse
