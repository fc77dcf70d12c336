#pragma once

#include <string>

#include "codecs/image_header.h"
#include "packhorse/image/image_info.h"

namespace packhorse {

/// An image's bytes, compared with what an index says about it.
struct DescribedImage {
  enum class Verdict {
    kFits,
    kUnusable,     ///< what probe_image() refuses
    kUnsupported,  ///< of a kind that nothing here decodes
    kBeyondLimit,  ///< it may be sound
    kOther,        ///< an image, but not the one the index describes
  };
  Verdict verdict = Verdict::kFits;
  ImageInfo info = {};      ///< set for kFits
  std::string reason = {};  ///< set for all others, in words
};

/// Compares every member of ImageInfo. Raw pixels have no header: they must have the right size, 8
/// bits, and be upright.
DescribedImage probe_described(Bytes file, const ImageInfo& described, const ImageLimits& limits);

/// Decodes every pixel and keeps none. Throws Error(kCorrupt) for what cannot be decoded, and for a
/// JPEG that libjpeg-turbo merely warns about, since it then made pixels up; Error(kUnsupported)
/// for samples or channels that none of packhorse's programs reads. Raw pixels must have the size
/// in `info`; for any other image, `info` must be what probe_image() says. Any thread; keeps memory
/// for each.
void decode_strictly(Bytes image, const ImageInfo& info);

}  // namespace packhorse
