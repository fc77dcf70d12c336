#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "packhorse/dataset/manifest.h"
#include "packhorse/dataset/shard_index.h"

namespace packhorse {

/// What an index's keys begin with in a dataset whose keys are qualified: the shard's name. By its
/// index, which is called <name>.index.
std::string key_prefix(const Adoption& adoption, const ShardRecord& record);

/// Walks an adopted shard by its format's library and compares it with its index. Samples that were
/// rejected when it was adopted may stand between those of the index. `at` gets each row before it
/// is looked at; `intact` each image whose bytes are the ones the index tells; `differs` the
/// difference, of the row or, before the first, of the shard as a whole, and whether it is one of
/// bytes alone.
void check_adopted(const std::filesystem::path& dataset, const Manifest& manifest,
                   const ShardRecord& record, const ShardIndex& index,
                   const std::function<void(std::size_t row)>& at,
                   const std::function<void(std::size_t row, Bytes image)>& intact,
                   const std::function<void(const std::string&, bool about_bytes)>& differs);

}  // namespace packhorse
