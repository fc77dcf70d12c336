#pragma once

#include "packhorse/formats/format.h"

namespace packhorse::wds {

std::unique_ptr<ShardWriter> open_writer(const std::filesystem::path& path, const ShardSpec& spec);
std::unique_ptr<ShardReader> open_reader(const std::filesystem::path& path);

}  // namespace packhorse::wds
