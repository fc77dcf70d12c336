#pragma once

#include <string>

#include "packhorse/image/image_info.h"

namespace packhorse {

/// An image's bytes held against what an index says of it.
struct DescribedImage {
  enum class Verdict {
    kFits,
    kUnusable,     ///< what probe_image() refuses
    kBeyondLimit,  ///< it may be sound
    kOther,        ///< an image, and not as the index says
  };
  Verdict verdict = Verdict::kFits;
  ImageInfo info = {};      ///< kFits
  std::string reason = {};  ///< of all others, in words
};

/// Compares all that ImageInfo says. Raw pixels, which have no header, must be as many, of 8 bits,
/// and upright.
DescribedImage probe_described(Bytes file, const ImageInfo& described, const ImageLimits& limits);

}  // namespace packhorse
