#pragma once

#include <filesystem>
#include <stop_token>
#include <vector>

#include "packhorse/packing/unpack.h"

namespace packhorse {

/// Writes datasets, whose names are their splits if there are several or `splits` is set, into the
/// folder `out` as a data set in a notation.
UnpackReport unpack_as_notation(const std::vector<std::filesystem::path>& datasets, bool splits,
                                const std::filesystem::path& out, UnpackAs as, Progress& progress,
                                const std::stop_token& stop);

}  // namespace packhorse
