#include <cstring>

#include "jpeg/kernels/kernels_by_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/kernels/colour.cc"
// These must come last.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace packhorse::jpeg::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR  // no vectors

ColourKernels colours_of_target() {
  return {plain_kernels().ycc_to_rgb, plain_kernels().grey_to_rgb};
}

#else

namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::ScalableTag<std::int16_t>;
using D32 = hn::Repartition<std::int32_t, D16>;
using D8 = hn::Rebind<std::uint8_t, D16>;
using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;
using V8 = hn::Vec<D8>;
constexpr D16 d16;
constexpr D32 d32;
constexpr D8 d8;

struct Rgb {
  V8 r, g, b;
};

HWY_INLINE V16 load(const std::uint8_t* from) { return hn::PromoteTo(d16, hn::LoadU(d8, from)); }

/// Twice `v` times `factor` / 2^16, halved and rounded.
HWY_INLINE V16 scaled_twice(V16 twice, std::int16_t factor) {
  return hn::ShiftRight<1>(hn::Add(hn::MulHigh(twice, hn::Set(d16, factor)), hn::Set(d16, 1)));
}

/// (-0.34414 b - 0.71414 r) + r, rounded: the second factor would not fit into 16 bits.
HWY_INLINE V16 green_of(V16 b, V16 r) {
  constexpr std::uint32_t kFactors = static_cast<std::uint16_t>(-22554) | 18734u << 16;
  const V16 factors = hn::BitCast(d16, hn::Set(d32, static_cast<std::int32_t>(kFactors)));
  const V32 half = hn::Set(d32, 32768);
  const auto sum = [&](V16 pairs) HWY_ATTR {
    V32 rest = hn::Zero(d32);
    const V32 first = hn::ReorderWidenMulAccumulate(d32, pairs, factors, hn::Zero(d32), rest);
    return hn::ShiftRight<16>(hn::Add(hn::RearrangeToOddPlusEven(first, rest), half));
  };
  return hn::ReorderDemote2To(d16, sum(hn::InterleaveLower(d16, b, r)),
                              sum(hn::InterleaveUpper(d16, b, r)));
}

/// The arithmetic of libjpeg-turbo's jdcolext for x86, with the same results as its tables.
HWY_INLINE Rgb converted(V16 y, V16 cb, V16 cr) {
  const V16 middle = hn::Set(d16, 128);
  const V16 b = hn::Sub(cb, middle), r = hn::Sub(cr, middle);
  const V16 b2 = hn::Add(b, b), r2 = hn::Add(r, r);
  const V16 red = hn::Add(hn::Add(y, r), scaled_twice(r2, 26345));     // 1 + 0.40200
  const V16 blue = hn::Add(hn::Add(y, b2), scaled_twice(b2, -14942));  // 2 - 0.22800
  const V16 green = hn::Sub(hn::Add(y, green_of(b, r)), r);
  return {hn::DemoteTo(d8, red), hn::DemoteTo(d8, green), hn::DemoteTo(d8, blue)};
}

/// Calls convert(i) for vectors of pixels and writes `count` pixels. The last vector goes through
/// memory of its own, so that nothing is written beyond the row.
template <class Convert>
HWY_INLINE void for_row(std::size_t count, std::uint8_t* out, const Convert& convert) {
  const std::size_t lanes = hn::Lanes(d8);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Rgb rgb = convert(i);
    hn::StoreInterleaved3(rgb.r, rgb.g, rgb.b, d8, out + 3 * i);
  }
  if (i == count) return;
  HWY_ALIGN std::uint8_t tail[3 * hn::MaxLanes(D8())];
  const Rgb rgb = convert(i);
  hn::StoreInterleaved3(rgb.r, rgb.g, rgb.b, d8, tail);
  std::memcpy(out + 3 * i, tail, 3 * (count - i));
}

void ycc(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::size_t count,
         std::uint8_t* out) {
  for_row(count, out, [&](std::size_t i) HWY_ATTR {
    return converted(load(y + i), load(cb + i), load(cr + i));
  });
}

void grey(const std::uint8_t* y, std::size_t count, std::uint8_t* out) {
  for_row(count, out, [&](std::size_t i) HWY_ATTR {
    const V8 v = hn::LoadU(d8, y + i);
    return Rgb{v, v, v};
  });
}

}  // namespace

ColourKernels colours_of_target() { return {ycc, grey}; }

#endif

}  // namespace packhorse::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace packhorse::jpeg {

HWY_EXPORT(colours_of_target);
ColourKernels fastest_colours() { return HWY_DYNAMIC_DISPATCH(colours_of_target)(); }

}  // namespace packhorse::jpeg
#endif
