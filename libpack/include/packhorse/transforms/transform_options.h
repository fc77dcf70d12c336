#pragma once

#include <string_view>

namespace packhorse {

/// Settings of the image modes; each mode looks at its own (docs/image_modes.md).
struct TransformOptions {
  int restart_mcus = 4;  ///< roi, resize: MCUs between two restart markers, approximately
  int short_side = 256;  ///< resize: pixels of the shorter side; smaller images keep their size
  int quality = 90;      ///< resize: JPEG quality, 1 to 100
  enum class Chroma { kAsSource, k420 } chroma = Chroma::kAsSource;  ///< resize
  int size = 256;                                                    ///< raw: width and height
  enum class Fit { kCrop, kLetterbox } fit = Fit::kCrop;             ///< raw
  enum class Codec { kPng, kWebp } codec = Codec::kPng;  ///< lossless: what images become
  /// Throws Error(kUsage) naming the first setting that makes no sense.
  void validate() const;
  /// Parses the text that a manifest has of them: "short_side=256 quality=90". Throws
  /// Error(kUnsupported) for settings this version does not know.
  static TransformOptions parse(std::string_view settings);
};

}  // namespace packhorse
