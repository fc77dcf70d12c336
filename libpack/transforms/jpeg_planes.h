#pragma once

#include <array>

#include "codecs/jpeg_session.h"
#include "image/picture.h"
#include "jpeg/encode/frame_header.h"
#include "packhorse/image/image_info.h"
#include "transforms/area.h"

/// A JPEG's planes, shrunk without ever becoming RGB.
namespace packhorse::transforms {

using Planes = std::array<Plane, encode::kMaxComponents>;

/// Whether the picture is grey or YCbCr, which planes are made for.
bool has_planes(const jpeg_decompress_struct& jpeg);

/// Decodes the JPEG whose header `session` has read, at a reduced size where that is quick, and
/// shrinks each of its components by the area filter to what `frame` (of the same number of
/// components) says. For a picture that will be mirrored afterwards, `turn` shifts subsampled
/// planes so that they fit then. Needs memory for a row of blocks, but all coefficients of a
/// progressive JPEG.
void read_planes(JpegSession& session, const ImageInfo& info, const encode::Frame& frame,
                 const Turn& turn, Planes& planes);

}  // namespace packhorse::transforms
