#pragma once

#include "jpeg/decode/buffer.h"
#include "jpeg/decode/frame.h"
#include "jpeg/decode/strip.h"
#include "jpeg/kernels/kernels.h"
#include "packhorse/base/bytes.h"

/// Progressive pictures (T.81, annex G), whose coefficients come in several scans: those that are
/// needed are decoded first, and then transformed like those of any other picture.
namespace packhorse::jpeg {

/// What a thread keeps for them: two bytes for each coefficient of the largest picture, but no more
/// than kMostKept.
struct ProgressiveMemory {
  static constexpr std::size_t kMostKept = std::size_t{4} << 20;  ///< bytes
  Buffer<std::int16_t> blocks;
  Buffer<std::uint8_t> last, scan;
  Buffer<std::uint64_t> set;
  std::size_t bytes() const { return blocks.bytes() + last.bytes() + scan.bytes() + set.bytes(); }
  /// Gives back what a very large picture took.
  void shrink() {
    if (bytes() > kMostKept) *this = {};
  }
};

/// Coefficients of a range of MCUs, in the order of an interleaved scan: row after row of them,
/// with the blocks beyond the picture's edges, as SegmentTask has them.
struct Coefficients {
  const std::int16_t* blocks = nullptr;
  const std::uint8_t* last = nullptr;
};

/// Decodes all scans of a progressive picture whose header `parser` has read into `frame`, down to
/// the end of the MCUs that are `needed`; what lies below is passed over. Takes only what libjpeg
/// takes without a warning and without smoothing: each coefficient must have been sent, to its last
/// bit. kNone when all is well; `coefficients` then lies in `memory`.
Reason decode_progressive(Bytes file, HeaderParser& parser, const Frame& frame,
                          const McuRange& needed, const Kernels& kernels, ProgressiveMemory& memory,
                          Coefficients& coefficients);

}  // namespace packhorse::jpeg
