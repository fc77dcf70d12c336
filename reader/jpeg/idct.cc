#include <cstring>

#include "kernels.h"
#include "kernels_by_target.h"
#include "plain_idct.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "idct.cc"
#include "targets.h"
// These must come last.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace packhorse::jpeg::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR  // no vectors

IdctKernel idct_of_target() { return plain_kernels().idct; }

#else

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

/// One block, or two side by side. False where 16 bits might overflow in a way that plain_idct()
/// must see to.
HWY_INLINE bool transform(const std::int16_t* a, const std::int16_t* b,
                          const std::int16_t* quantisation, std::uint8_t* out, std::size_t stride) {
  V16 x[8];
  for (std::size_t i = 0; i < 8; ++i) {
    const V16 steps = hn::LoadDup128(d16, quantisation + 8 * i);
    x[i] = hn::Mul(load_rows(a + 8 * i, b + 8 * i), steps);
  }
  // Of a block with nothing below its first row, the library shifts that by 2 without saturation.
  const V16 large = hn::Xor(hn::ShiftRight<13>(x[0]), hn::ShiftRight<15>(x[0]));
  if (HWY_UNLIKELY(!hn::AllFalse(d16, hn::Ne(large, hn::Zero(d16))))) return false;
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

/// A block of one colour. False as transform().
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
  const auto place = [&](std::size_t i) {
    return row.side_by_side == 2 ? (i >> 1) * row.per_mcu + (i & 1) : i * row.per_mcu;
  };
  for (std::size_t i = 0; i < row.count; i += kTogether, out += 8 * kTogether) {
    const std::size_t a = place(i), b = kTogether == 2 && i + 1 < row.count ? place(i + 1) : a;
    const std::int16_t *block_a = row.blocks + a * kBlock, *block_b = row.blocks + b * kBlock;
    std::uint8_t* out_b = out + 8 * (kTogether - 1);
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
