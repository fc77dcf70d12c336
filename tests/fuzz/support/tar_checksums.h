#pragma once

#include <vector>

#include "packhorse/base/bytes.h"

namespace packhorse::fuzz {

/// The same bytes with the right checksum in every block that says "ustar": a wrong one ends all
/// that could be found out behind it.
std::vector<std::byte> with_tar_checksums(Bytes tar);

}  // namespace packhorse::fuzz
