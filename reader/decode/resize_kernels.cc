#include "decode/resize_kernels.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "decode/resize_kernels.cc"
// These must come last.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace packhorse::reader::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // no vectors

ResizeKernels kernels_of_target() { return plain_kernels(); }

#else

namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Two parts of 128 bits, or one: longer vectors gain nothing that shows beside decoding.
using D8 = hn::CappedTag<std::uint8_t, 32>;
using DU16 = hn::Repartition<std::uint16_t, D8>;
using D16 = hn::Repartition<std::int16_t, D8>;
using D32 = hn::Repartition<std::int32_t, D8>;
using V8 = hn::Vec<D8>;
using VU16 = hn::Vec<DU16>;
using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;
constexpr D8 d8;
constexpr DU16 du16;
constexpr D16 d16;
constexpr D32 d32;

/// The same two numbers in every lane of 32 bits.
HWY_INLINE V16 pairs_of(const std::int16_t* two) {
  std::int32_t both;
  std::memcpy(&both, two, sizeof both);
  return hn::BitCast(d16, hn::Set(d32, both));
}

/// Rounded sums of weighted pairs of samples. How they are spread over the two vectors depends on
/// the processor. The constructor is written out: g++ compiles an implicit one without the
/// instruction set of this namespace, and then cannot inline Highway's.
struct Sums {
  V32 sums = hn::Zero(d32), rest = hn::Zero(d32);

  /// Begins with a half, added as a pair is, so that it is spread as pairs are.
  HWY_INLINE Sums() {
    constexpr std::int16_t kHalfAndNothing[2] = {kHalf, 0};
    add(pairs_of(kHalfAndNothing), hn::Set(d16, 1));
  }
  HWY_INLINE void add(V16 samples, V16 weights) {
    sums = hn::ReorderWidenMulAccumulate(d32, samples, weights, sums, rest);
  }
  HWY_INLINE V32 levels(bool clamped) const {
    const V32 rounded = hn::ShiftRight<kWeightBits>(hn::RearrangeToOddPlusEven(sums, rest));
    if (!clamped) return rounded;
    return hn::Min(hn::Max(rounded, hn::Zero(d32)), hn::Set(d32, 255));
  }
};

constexpr int kRows = HWY_MAX_BYTES >= 32 ? 2 : 1;  // in a vector: 128 bits of each

/// 16 bytes from each of kRows rows.
HWY_INLINE V8 load_rows(const std::uint8_t* in, std::size_t stride) {
#if HWY_MAX_BYTES >= 32
  const hn::Half<D8> half;
  return hn::Combine(d8, hn::LoadU(half, in + stride), hn::LoadU(half, in));
#else
  (void)stride;
  return hn::LoadU(d8, in);
#endif
}

/// kVectors * kRows rows, which share the weights.
template <bool kClamped, std::size_t kVectors>
void rows_together(const std::uint8_t* in, std::size_t in_stride, std::span<const Tap> taps,
                   const std::int16_t* weights, std::uint8_t* out, std::size_t out_stride) {
  constexpr std::uint8_t kNone = 0x80;
  // Two pixels r g b R G B become the 16-bit numbers r R g G b B 0 0.
  alignas(16) static constexpr std::uint8_t kSpread[16] = {
      0, kNone, 3, kNone, 1, kNone, 4, kNone, 2, kNone, 5, kNone, kNone, kNone, kNone, kNone};
  // The 32-bit numbers r g b 0 become the bytes r g b 0.
  alignas(16) static constexpr std::uint8_t kGather[16] = {0, 4, 8, 12};
  // The same for the two pixels after them.
  alignas(16) static constexpr std::uint8_t kSpreadNext[16] = {
      6, kNone, 9, kNone, 7, kNone, 10, kNone, 8, kNone, 11, kNone, kNone, kNone, kNone, kNone};
  const V8 spread = hn::LoadDup128(d8, kSpread), spread_next = hn::LoadDup128(d8, kSpreadNext),
           gather = hn::LoadDup128(d8, kGather);
  for (const Tap& tap : taps) {
    const std::uint8_t* pixel = in + std::ptrdiff_t{tap.first} * 3;
    const std::int16_t* weight = weights + tap.weights;
    Sums sums[kVectors];
    int i = 0;
    for (; i + 2 < tap.count; i += 4, pixel += 12, weight += 4) {
      const V16 pair = pairs_of(weight), next = pairs_of(weight + 2);
      for (std::size_t v = 0; v < kVectors; ++v) {
        const V8 pixels = load_rows(pixel + v * kRows * in_stride, in_stride);
        sums[v].add(hn::BitCast(d16, hn::TableLookupBytesOr0(pixels, spread)), pair);
        sums[v].add(hn::BitCast(d16, hn::TableLookupBytesOr0(pixels, spread_next)), next);
      }
    }
    if (i < tap.count) {
      const V16 pair = pairs_of(weight);
      for (std::size_t v = 0; v < kVectors; ++v) {
        const V8 pixels = load_rows(pixel + v * kRows * in_stride, in_stride);
        sums[v].add(hn::BitCast(d16, hn::TableLookupBytesOr0(pixels, spread)), pair);
      }
    }
    for (std::size_t v = 0; v < kVectors; ++v) {
      HWY_ALIGN std::uint8_t rgb0[kRows][16];
      hn::Store(hn::TableLookupBytes(hn::BitCast(d8, sums[v].levels(kClamped)), gather), d8,
                rgb0[0]);
      for (std::size_t r = 0; r < kRows; ++r)
        std::memcpy(out + (v * kRows + r) * out_stride, rgb0[r], 4);
    }
    out += 3;
  }
}

template <bool kClamped>
void rows(const std::uint8_t* in, std::size_t in_stride, int count, std::span<const Tap> taps,
          const std::int16_t* weights, std::uint8_t* out, std::size_t out_stride) {
  constexpr int kMost = 4 * kRows;
  for (; count >= kMost; count -= kMost, in += kMost * in_stride, out += kMost * out_stride)
    rows_together<kClamped, 4>(in, in_stride, taps, weights, out, out_stride);
  for (; count > 0; count -= kRows, in += kRows * in_stride, out += kRows * out_stride) {
    if (count < kRows) in_stride = out_stride = 0;  // the last row, twice
    rows_together<kClamped, 1>(in, in_stride, taps, weights, out, out_stride);
  }
}

/// A vector of an output row.
template <bool kClamped>
HWY_INLINE void block(const std::uint8_t* in, std::size_t stride, const std::int16_t* weights,
                      int count, std::uint8_t* out) {
  const VU16 low_byte = hn::Set(du16, 0xff);
  Sums even[2], odd[2];  // samples
  for (int i = 0; i < count; i += 2, in += 2 * stride) {
    // The partner of a last, odd row has no weight; the row itself is there to be read.
    const std::uint8_t* partner = i + 1 < count ? in + stride : in;
    const VU16 a = hn::BitCast(du16, hn::LoadU(d8, in));
    const VU16 b = hn::BitCast(du16, hn::LoadU(d8, partner));
    const VU16 both[2] = {hn::InterleaveLower(du16, a, b), hn::InterleaveUpper(du16, a, b)};
    const V16 pair = pairs_of(weights + i);
    for (int j = 0; j < 2; ++j) {
      even[j].add(hn::BitCast(d16, hn::And(both[j], low_byte)), pair);
      odd[j].add(hn::BitCast(d16, hn::ShiftRight<8>(both[j])), pair);
    }
  }
  const V16 low = hn::ReorderDemote2To(d16, even[0].levels(kClamped), even[1].levels(kClamped));
  const V16 high = hn::ReorderDemote2To(d16, odd[0].levels(kClamped), odd[1].levels(kClamped));
  hn::StoreU(hn::BitCast(d8, hn::Or(low, hn::ShiftLeft<8>(high))), d8, out);
}

template <bool kClamped>
void column(const std::uint8_t* in, std::size_t stride, const std::int16_t* weights, int count,
            std::uint8_t* out, std::size_t bytes) {
  const std::size_t lanes = hn::Lanes(d8);
  if (bytes < lanes || count == 0)
    return (kClamped ? plain_kernels().clamped_column : plain_kernels().column)(in, stride, weights,
                                                                                count, out, bytes);
  for (std::size_t x = 0; x + lanes <= bytes; x += lanes)
    block<kClamped>(in + x, stride, weights, count, out + x);
  const std::size_t last = bytes - lanes;  // overlaps the block before it
  if (bytes % lanes != 0) block<kClamped>(in + last, stride, weights, count, out + last);
}

}  // namespace

ResizeKernels kernels_of_target() { return {rows<false>, column<false>, rows<true>, column<true>}; }

#endif

}  // namespace packhorse::reader::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace packhorse::reader {

HWY_EXPORT(kernels_of_target);
ResizeKernels fastest_kernels() { return HWY_DYNAMIC_DISPATCH(kernels_of_target)(); }

}  // namespace packhorse::reader
#endif
