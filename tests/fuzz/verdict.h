#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "packhorse/base/bytes.h"

namespace packhorse::fuzz {

/// What libjpeg says of a file: its pixels as RGB, if it decodes all of it without a warning.
struct Verdict {
  bool clean = false;
  std::string message = {};  ///< of the error or first warning
  std::uint32_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels = {};
};

/// Pictures of more pixels, or in so many scans that it would take long, get no verdict (not
/// clean). `verdict` keeps its memory between calls.
void ask_libjpeg(Bytes file, std::uint64_t max_pixels, Verdict& verdict);

}  // namespace packhorse::fuzz
