#pragma once

#include "formats/format.h"

namespace packhorse::concat {

/// Samples one behind the other. layout.h draws it.
extern const Format kFormat;

std::unique_ptr<ShardWriter> open_writer(const std::filesystem::path& path, const ShardSpec& spec);
std::unique_ptr<ShardReader> open_reader(const std::filesystem::path& path);

}  // namespace packhorse::concat
