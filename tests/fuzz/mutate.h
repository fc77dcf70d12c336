#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <vector>

namespace packhorse::fuzz {

using File = std::vector<std::byte>;

/// Makes one to several changes to a JPEG, guided by its structure: single bits and bytes, bytes
/// that matter in JPEGs, parts left out, doubled or taken from another file, the tables, the frame
/// header, the offsets of a RoiTable, markers, the end. Keeps it under `max_bytes`.
void mutate(File& file, std::span<const File> others, std::size_t max_bytes,
            std::mt19937_64& random);

}  // namespace packhorse::fuzz
