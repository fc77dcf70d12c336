#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "dataset/shard_index.h"
#include "packhorse/dataset/manifest.h"

namespace packhorse {

/// The prefix of an index's keys in a dataset with qualified keys: the shard's name, taken from its
/// index file, <name>.index.
std::string key_prefix(const Adoption& adoption, const ShardRecord& record);

/// Walks an adopted shard with its format's library and compares it with its index. Samples
/// rejected at adoption may lie between those of the index. `at` receives each row before it is
/// looked at; `intact` each image whose bytes are the ones in the index; `differs` each difference,
/// and whether only bytes differ. A difference concerns the row, or the whole shard before the
/// first row.
void check_adopted(const std::filesystem::path& dataset, const Manifest& manifest,
                   const ShardRecord& record, const ShardIndex& index,
                   const std::function<void(std::size_t row)>& at,
                   const std::function<void(std::size_t row, Bytes image)>& intact,
                   const std::function<void(const std::string&, bool about_bytes)>& differs);

}  // namespace packhorse
