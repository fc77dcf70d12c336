#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "packhorse/manifest.h"
#include "packhorse/shard_index.h"

namespace packhorse {

/// What an index's keys begin with in a dataset whose keys are qualified: the shard's name. By its
/// index, which is called <name>.index.
std::string key_prefix(const Adoption& adoption, const ShardRecord& record);

/// Walks an adopted shard by its format's library and compares it with its index. Samples that were
/// rejected when it was adopted may stand between those of the index. `differs` gets the row, or
/// nothing for the shard as a whole, and what is different.
void check_adopted(
    const std::filesystem::path& dataset, const Manifest& manifest, const ShardRecord& record,
    const ShardIndex& index,
    const std::function<void(std::optional<std::size_t>, const std::string&)>& differs);

}  // namespace packhorse
