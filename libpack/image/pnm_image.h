#pragma once

#include <memory>

#include "packhorse/image/decoded_image.h"

namespace packhorse {

/// decode_image() of a PGM or PPM: read row by row, without a library.
std::unique_ptr<DecodedImage> open_pnm(Bytes file);

}  // namespace packhorse
