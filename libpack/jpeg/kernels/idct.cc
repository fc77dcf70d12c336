#include <cstring>

#include "jpeg/kernels/kernels.h"
#include "jpeg/kernels/kernels_by_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/kernels/idct.cc"
// These must come last.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "jpeg/kernels/idct_vectors.h"

HWY_BEFORE_NAMESPACE();
namespace packhorse::jpeg::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR  // no vectors

IdctKernel idct_of_target() { return plain_kernels().idct; }

#else

namespace {

/// Half of the columns of one direction: plain_idct.cc says what is computed.
template <bool kUpper>
HWY_INLINE void half_pass(const V16* x, V32* sums, V32* differences) {
  const V16 zero = hn::Zero(d16);
  const auto shifted = [&](V16 v) HWY_ATTR {  // times 2^13
    return hn::ShiftRight<3>(hn::BitCast(d32, paired<kUpper>(zero, v)));
  };
  const V16 p26 = paired<kUpper>(x[2], x[6]);
  const V32 t3 = dot(p26, factors(10703, 4433)), t2 = dot(p26, factors(4433, -10704));
  const V32 t0 = shifted(hn::Add(x[0], x[4])), t1 = shifted(hn::Sub(x[0], x[4]));
  const V32 even[4] = {hn::Add(t0, t3), hn::Add(t1, t2), hn::Sub(t1, t2), hn::Sub(t0, t3)};
  const V16 z = paired<kUpper>(hn::Add(x[7], x[3]), hn::Add(x[5], x[1]));
  const V32 y3 = dot(z, factors(-6436, 9633)), y4 = dot(z, factors(9633, 6437));
  const V16 p71 = paired<kUpper>(x[7], x[1]), p53 = paired<kUpper>(x[5], x[3]);
  const V32 odd[4] = {
      hn::Add(dot(p71, factors(-7373, 4926)), y4), hn::Add(dot(p53, factors(-20995, 4177)), y3),
      hn::Add(dot(p53, factors(-4176, -20995)), y4), hn::Add(dot(p71, factors(-4927, -7373)), y3)};
  for (int i = 0; i < 4; ++i) {
    sums[i] = hn::Add(even[i], odd[i]);
    differences[i] = hn::Sub(even[i], odd[i]);
  }
}

template <int kShift>
HWY_INLINE void pass(V16* x) {
  V32 sums[2][4], differences[2][4];
  half_pass<false>(x, sums[0], differences[0]);
  half_pass<true>(x, sums[1], differences[1]);
  for (int i = 0; i < 4; ++i) {
    x[i] = rounded<kShift>(sums[0][i], sums[1][i]);
    x[7 - i] = rounded<kShift>(differences[0][i], differences[1][i]);
  }
}

/// Transforms one block, or two side by side. False where 16 bits might overflow in a way that only
/// plain_idct() handles.
HWY_INLINE bool transform(const std::int16_t* a, const std::int16_t* b,
                          const std::int16_t* quantisation, std::uint8_t* out, std::size_t stride) {
  V16 x[8];
  for (std::size_t i = 0; i < 8; ++i) {
    const V16 steps = hn::LoadDup128(d16, quantisation + 8 * i);
    x[i] = hn::Mul(load_rows(a + 8 * i, b + 8 * i), steps);
  }
  if (HWY_UNLIKELY(any_large(x[0]))) return false;
  pass<11>(x);
  transpose(x);
  pass<18>(x);
  transpose(x);
  const hn::Rebind<std::uint8_t, D16> d8;
  const V16 middle = hn::Set(d16, 128);
  for (std::size_t i = 0; i < 8; ++i) {
    hn::StoreU(hn::DemoteTo(d8, hn::SaturatedAdd(x[i], middle)), d8, out + i * stride);
  }
  return true;
}

/// Fills a block of one colour. False as in transform().
HWY_INLINE bool fill(std::int16_t dc, std::int16_t step, std::uint8_t* out, std::size_t stride) {
  const int value = dc * step;
  if (HWY_UNLIKELY(value < -8192 || value > 8191)) return false;
  const int sample = ((value + 4) >> 3) + 128;
  const int clamped = sample < 0 ? 0 : sample > 255 ? 255 : sample;
  const std::uint64_t eight = static_cast<std::uint64_t>(clamped) * 0x0101010101010101u;
  for (std::size_t i = 0; i < 8; ++i) std::memcpy(out + i * stride, &eight, 8);
  return true;
}

void idct(const BlockRow& row, const Quantisation& quantisation, std::uint8_t* out,
          std::size_t stride) {
  for (std::size_t i = 0; i < row.count; i += kTogether, out += 8 * kTogether) {
    const std::size_t a = place_of(row, i),
                      b = kTogether == 2 && i + 1 < row.count ? place_of(row, i + 1) : a;
    const std::int16_t *block_a = row.blocks + a * kBlock, *block_b = row.blocks + b * kBlock;
    std::uint8_t* out_b = out + 8 * (kTogether - 1);  // NOLINT: unused where one goes at a time
    if (row.last[a] == 1 && row.last[b] == 1) {
      if (fill(block_a[0], quantisation[0], out, stride) &&
          (kTogether == 1 || fill(block_b[0], quantisation[0], out_b, stride))) {
        continue;
      }
    } else if (transform(block_a, block_b, quantisation.data(), out, stride)) {
      continue;
    }
    plain_idct(block_a, quantisation, out, stride);
    if (kTogether == 2) plain_idct(block_b, quantisation, out_b, stride);
  }
}

}  // namespace

IdctKernel idct_of_target() { return idct; }

#endif

}  // namespace packhorse::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace packhorse::jpeg {

HWY_EXPORT(idct_of_target);
IdctKernel fastest_idct() { return HWY_DYNAMIC_DISPATCH(idct_of_target)(); }

}  // namespace packhorse::jpeg
#endif
