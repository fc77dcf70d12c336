#pragma once

#include <vector>

#include "packhorse/base/bytes.h"

namespace packhorse::fuzz {

/// Returns the same bytes with the right checksum in every block that says "ustar". A wrong one
/// would keep the fuzzer from everything after it.
std::vector<std::byte> with_tar_checksums(Bytes tar);

}  // namespace packhorse::fuzz
