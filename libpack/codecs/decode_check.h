#pragma once

#include "packhorse/image/image_info.h"

namespace packhorse {

/// Decodes every pixel and keeps none. Throws Error(kCorrupt) for what cannot be decoded, and for a
/// JPEG that libjpeg-turbo merely warns about, since it then made pixels up; Error(kUnsupported)
/// for samples or channels that none of packhorse's programs reads. Raw pixels must have the size
/// in `info`; for any other image, `info` must be what probe_image() says. Any thread; keeps memory
/// for each.
void decode_strictly(Bytes image, const ImageInfo& info);

}  // namespace packhorse
