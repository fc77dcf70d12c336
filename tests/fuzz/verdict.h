#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "packhorse/base/bytes.h"

namespace packhorse::fuzz {

/// libjpeg's verdict on a file: its pixels as RGB, if libjpeg decodes all of it without a warning.
struct Verdict {
  bool clean = false;
  std::string message = {};  ///< of the error or first warning
  std::uint32_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels = {};
};

/// Asks libjpeg. Pictures with more pixels, or with so many scans that decoding would take long,
/// get no verdict (not clean). `verdict` keeps its memory between calls.
void ask_libjpeg(Bytes file, std::uint64_t max_pixels, Verdict& verdict);

}  // namespace packhorse::fuzz
