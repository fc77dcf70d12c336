#pragma once

#include <memory>

#include "packhorse/image/decoded_image.h"

namespace packhorse {

/// decode_image() for PGM and PPM: reads row by row, without a library.
std::unique_ptr<DecodedImage> open_pnm(Bytes file);

}  // namespace packhorse
