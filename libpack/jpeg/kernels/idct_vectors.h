// Has no include guard of the usual kind: the code below is compiled once for each instruction set.
// Include it after <hwy/highway.h>.
#if defined(PACKHORSE_JPEG_IDCT_VECTORS) == defined(HWY_TARGET_TOGGLE)
#ifdef PACKHORSE_JPEG_IDCT_VECTORS
#undef PACKHORSE_JPEG_IDCT_VECTORS
#else
#define PACKHORSE_JPEG_IDCT_VECTORS
#endif

#include "jpeg/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
/// The parts that inverse DCTs of all sizes share.
namespace packhorse::jpeg::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

namespace {

namespace hn = hwy::HWY_NAMESPACE;

// One block for each 128 bits of a vector, at most two: a row of 8 coefficients in each.
using D16 = hn::CappedTag<std::int16_t, 16>;
using D32 = hn::Repartition<std::int32_t, D16>;
using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;
constexpr D16 d16;
constexpr D32 d32;
constexpr std::size_t kTogether = HWY_MAX_BYTES >= 32 ? 2 : 1;

/// Two factors for dot().
HWY_INLINE V16 factors(int a, int b) {
  const std::uint32_t both =
      (static_cast<std::uint32_t>(a) & 0xffff) | static_cast<std::uint32_t>(b) << 16;
  return hn::BitCast(d16, hn::Set(d32, static_cast<std::int32_t>(both)));
}

/// Sums of neighbours' products.
HWY_INLINE V32 dot(V16 pairs, V16 with) {
  V32 rest = hn::Zero(d32);
  const V32 sum = hn::ReorderWidenMulAccumulate(d32, pairs, with, hn::Zero(d32), rest);
  return hn::RearrangeToOddPlusEven(sum, rest);
}

template <int kShift>
HWY_INLINE V16 rounded(V32 low, V32 high) {
  const V32 half = hn::Set(d32, 1 << (kShift - 1));
  return hn::ReorderDemote2To(d16, hn::ShiftRight<kShift>(hn::Add(low, half)),
                              hn::ShiftRight<kShift>(hn::Add(high, half)));
}

/// The pairs (a, b) of the lower or upper half of each 128 bits.
template <bool kUpper>
HWY_INLINE V16 paired(V16 a, V16 b) {
  if constexpr (kUpper) {
    return hn::InterleaveUpper(d16, a, b);
  } else {
    return hn::InterleaveLower(d16, a, b);
  }
}

HWY_INLINE void transpose(V16* x) {
  V32 a[8], b[8];
  for (std::size_t i = 0; i < 4; ++i) {
    a[2 * i] = hn::BitCast(d32, hn::InterleaveLower(d16, x[2 * i], x[2 * i + 1]));
    a[2 * i + 1] = hn::BitCast(d32, hn::InterleaveUpper(d16, x[2 * i], x[2 * i + 1]));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    b[4 * i] = hn::InterleaveLower(d32, a[4 * i], a[4 * i + 2]);
    b[4 * i + 1] = hn::InterleaveUpper(d32, a[4 * i], a[4 * i + 2]);
    b[4 * i + 2] = hn::InterleaveLower(d32, a[4 * i + 1], a[4 * i + 3]);
    b[4 * i + 3] = hn::InterleaveUpper(d32, a[4 * i + 1], a[4 * i + 3]);
  }
  const hn::Repartition<std::int64_t, D16> d64;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto low = hn::BitCast(d64, b[i]), high = hn::BitCast(d64, b[4 + i]);
    x[2 * i] = hn::BitCast(d16, hn::InterleaveLower(d64, low, high));
    x[2 * i + 1] = hn::BitCast(d16, hn::InterleaveUpper(d64, low, high));
  }
}

/// A row of each of the blocks that are transformed together.
HWY_INLINE V16 load_rows(const std::int16_t* a, const std::int16_t* b) {
#if HWY_MAX_BYTES >= 32
  const hn::Half<D16> half;
  return hn::Combine(d16, hn::Load(half, b), hn::Load(half, a));
#else
  (void)b;
  return hn::Load(d16, a);
#endif
}

/// Whether any number needs more than 13 bits and a sign: in a block with nothing below its first
/// row, the library shifts that row by 2 without saturation.
HWY_INLINE bool any_large(V16 x) {
  const V16 large = hn::Xor(hn::ShiftRight<13>(x), hn::ShiftRight<15>(x));
  return !hn::AllFalse(d16, hn::Ne(large, hn::Zero(d16)));
}

/// The place of block i of a row among all blocks.
HWY_INLINE std::size_t place_of(const BlockRow& row, std::size_t i) {
  return row.side_by_side == 2 ? (i >> 1) * row.per_mcu + (i & 1) : i * row.per_mcu;
}

}  // namespace

#endif

}  // namespace packhorse::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
