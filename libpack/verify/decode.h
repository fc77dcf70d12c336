#pragma once

#include "packhorse/image_info.h"

namespace packhorse {

/// Decodes every pixel and keeps none. Throws Error(kCorrupt) for what cannot be decoded, and for a
/// JPEG that libjpeg-turbo merely warns about, as it then made pixels up. Raw pixels must have the
/// size `info` says. Any thread.
void decode_strictly(Bytes image, const ImageInfo& info);

}  // namespace packhorse
