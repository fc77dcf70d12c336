#pragma once

#include <filesystem>

#include "packhorse/reader/dataset.h"

namespace packhorse::trainer {

/// Refuses a packed dataset that holds other pictures than the folder, as far as some samples tell:
/// speeds on smaller pictures would be called what packing gains. `path` is the packed one's.
/// Throws Error(kUsage).
void check_same_pictures(const reader::Dataset& folder, const reader::Dataset& packed,
                         const std::filesystem::path& path);

}  // namespace packhorse::trainer
