#pragma once

#include <filesystem>
#include <random>
#include <vector>

#include "mutate.h"

namespace packhorse::fuzz {

/// Makes small pictures of every kind the decoder takes, with libjpeg: any sampling, size, quality,
/// restart interval, and with a RoiTable; tall and narrow ones, wide and flat ones, and some whose
/// scan ends long before their blocks do.
std::vector<File> made_seeds(std::size_t count, std::mt19937_64& random);

/// The JPEGs below a folder with at most `max_bytes` bytes.
std::vector<File> photo_seeds(const std::filesystem::path& folder, std::size_t max_bytes);

}  // namespace packhorse::fuzz
