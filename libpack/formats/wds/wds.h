#pragma once

#include "packhorse/formats/foreign_shard.h"

namespace packhorse::wds {

/// WebDataset: plain tar, the members of a sample side by side. layout.h draws it.
extern const Format kFormat;
/// WebDataset of any writer, to be adopted.
extern const ForeignFormat kForeignFormat;

std::unique_ptr<ShardWriter> open_writer(const std::filesystem::path& path, const ShardSpec& spec);
std::unique_ptr<ShardReader> open_reader(const std::filesystem::path& path);

}  // namespace packhorse::wds
