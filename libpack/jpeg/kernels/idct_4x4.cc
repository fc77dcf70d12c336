#include <cstring>

#include "jpeg/kernels/kernels.h"
#include "jpeg/kernels/kernels_by_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/kernels/idct_4x4.cc"
// These must come last.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "jpeg/kernels/idct_vectors.h"

HWY_BEFORE_NAMESPACE();
namespace packhorse::jpeg::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR  // no vectors

IdctKernel idct_4x4_of_target() { return plain_kernels().idct_4x4; }

#else

namespace {

/// Four outputs from eight inputs, of which the fifth does not count, for the lower or upper half
/// of the columns. reduced_idct.cc says what is computed.
template <bool kUpper, int kShift>
HWY_INLINE void four_of(const V16* x, V32* out) {
  const V32 even0 =
      hn::ShiftRight<2>(hn::BitCast(d32, paired<kUpper>(hn::Zero(d16), x[0])));  // times 2^14
  const V32 even2 = dot(paired<kUpper>(x[2], x[6]), factors(15137, -6270));
  const V16 p13 = paired<kUpper>(x[1], x[3]), p57 = paired<kUpper>(x[5], x[7]);
  const V32 odd0 = hn::Add(dot(p13, factors(20995, 7373)), dot(p57, factors(-4926, -4176)));
  const V32 odd1 = hn::Add(dot(p13, factors(8697, -17799)), dot(p57, factors(11893, -1730)));
  const V32 half = hn::Set(d32, 1 << (kShift - 1));
  const V32 high = hn::Add(hn::Add(even0, even2), half), low = hn::Add(hn::Sub(even0, even2), half);
  out[0] = hn::ShiftRight<kShift>(hn::Add(high, odd0));
  out[1] = hn::ShiftRight<kShift>(hn::Add(low, odd1));
  out[2] = hn::ShiftRight<kShift>(hn::Sub(low, odd1));
  out[3] = hn::ShiftRight<kShift>(hn::Sub(high, odd0));
}

/// Transforms one block, or two side by side. False when plain code must do it.
HWY_INLINE bool transform(const std::int16_t* a, const std::int16_t* b,
                          const std::int16_t* quantisation, std::uint8_t* out, std::size_t stride) {
  V16 x[8];
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == 4) continue;
    const V16 steps = hn::LoadDup128(d16, quantisation + 8 * i);
    x[i] = hn::Mul(load_rows(a + 8 * i, b + 8 * i), steps);
  }
  if (HWY_UNLIKELY(any_large(x[0]))) return false;
  V32 lower[4], upper[4];
  four_of<false, 12>(x, lower);
  four_of<true, 12>(x, upper);
  for (std::size_t i = 0; i < 4; ++i) x[i] = hn::ReorderDemote2To(d16, lower[i], upper[i]);
  for (std::size_t i = 4; i < 8; ++i) x[i] = hn::Zero(d16);
  transpose(x);  // the lower halves are columns of four
  four_of<false, 19>(x, lower);
  const V16 c01 = hn::ReorderDemote2To(d16, lower[0], lower[1]);
  const V16 c23 = hn::ReorderDemote2To(d16, lower[2], lower[3]);
  const V16 c02 = hn::InterleaveLower(d16, c01, c23), c13 = hn::InterleaveUpper(d16, c01, c23);
  const hn::Rebind<std::uint8_t, D16> d8;
  const V16 middle = hn::Set(d16, 128);
  HWY_ALIGN std::uint8_t rows[2][8 * kTogether];  // two rows of each block in each
  hn::Store(hn::DemoteTo(d8, hn::SaturatedAdd(hn::InterleaveLower(d16, c02, c13), middle)), d8,
            rows[0]);
  hn::Store(hn::DemoteTo(d8, hn::SaturatedAdd(hn::InterleaveUpper(d16, c02, c13), middle)), d8,
            rows[1]);
  for (std::size_t y = 0; y < 4; ++y, out += stride) {
    for (std::size_t i = 0; i < kTogether; ++i) {
      std::memcpy(out + 4 * i, rows[y / 2] + 8 * i + 4 * (y % 2), 4);
    }
  }
  return true;
}

void idct_4x4(const BlockRow& row, const Quantisation& quantisation, std::uint8_t* out,
              std::size_t stride) {
  for (std::size_t i = 0; i < row.count; i += kTogether, out += 4 * kTogether) {
    const std::size_t a = place_of(row, i),
                      b = kTogether == 2 && i + 1 < row.count ? place_of(row, i + 1) : a;
    const std::int16_t *block_a = row.blocks + a * kBlock, *block_b = row.blocks + b * kBlock;
    if (transform(block_a, block_b, quantisation.data(), out, stride)) continue;
    plain_idct_4x4(block_a, quantisation, out, stride);
    if (kTogether == 2) plain_idct_4x4(block_b, quantisation, out + 4, stride);
  }
}

}  // namespace

IdctKernel idct_4x4_of_target() { return idct_4x4; }

#endif

}  // namespace packhorse::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace packhorse::jpeg {

HWY_EXPORT(idct_4x4_of_target);
IdctKernel fastest_idct_4x4() { return HWY_DYNAMIC_DISPATCH(idct_4x4_of_target)(); }

}  // namespace packhorse::jpeg
#endif
