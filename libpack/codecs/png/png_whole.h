#pragma once

#include "codecs/codec.h"

namespace packhorse::codecs {

/// Decodes most PNGs as a whole, by libdeflate, which is faster than a library that reads rows: not
/// interlaced, 8 or 16 bits, no palette and no transparent colour, up to 64 MiB. Null for any
/// other, and where anything is wrong or unusual: libpng is to be asked then.
std::unique_ptr<PixelRows> open_whole_png(Bytes file, const ProbeResult& header,
                                          const Region& region);

}  // namespace packhorse::codecs
