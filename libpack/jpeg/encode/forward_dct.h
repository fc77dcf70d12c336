#pragma once

#include <array>
#include <cstdint>

#include "image/picture.h"
#include "jpeg/encode/frame_header.h"
#include "jpeg/encode/scan_coder.h"

/// Turns samples into quantised coefficients.
namespace packhorse::encode {

/// Annex K's tables (T.81 K.1) scaled for a quality from 1 to 100, as libjpeg does and others copy.
QuantTable luma_table(int quality);
QuantTable chroma_table(int quality);

/// Arai, Agui and Nakajima's DCT in floating point, in a fixed order of operations: the same result
/// on every machine.
class ForwardDct {
 public:
  explicit ForwardDct(const QuantTable& quant);
  /// Transforms the 8 x 8 samples at `samples`.
  void transform(const std::uint8_t* samples, std::size_t stride, Block& out) const;

 private:
  std::array<float, kBlock> factors_;  ///< 1 / (quantiser * the algorithm's own scale)
};

}  // namespace packhorse::encode
