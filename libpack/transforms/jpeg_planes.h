#pragma once

#include <array>

#include "codecs/jpeg/jpeg_session.h"
#include "image/picture.h"
#include "jpeg/encode/frame_header.h"
#include "packhorse/image/image_info.h"
#include "transforms/area.h"

/// Shrinks a JPEG's planes without converting them to RGB.
namespace packhorse::transforms {

using Planes = std::array<Plane, encode::kMaxComponents>;

/// Whether the picture is grey or YCbCr, the two kinds that read_planes() takes.
bool has_planes(const jpeg_decompress_struct& jpeg);

/// Decodes the JPEG whose header `session` has read, at a reduced size where that is quick. Shrinks
/// each component by the area filter to the size in `frame`, which has the same number of
/// components. `turn` shifts subsampled planes so that they fit a picture that is mirrored
/// afterwards. Needs memory for one row of blocks, or for all coefficients of a progressive JPEG.
void read_planes(JpegSession& session, const ImageInfo& info, const encode::Frame& frame,
                 const Turn& turn, Planes& planes);

}  // namespace packhorse::transforms
