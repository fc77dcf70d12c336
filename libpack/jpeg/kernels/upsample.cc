#include "jpeg/kernels/kernels_by_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/kernels/upsample.cc"
// These must come last.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace packhorse::jpeg::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR  // no vectors

UpsampleKernels upsampling_of_target() {
  const Kernels& plain = plain_kernels();
  return {plain.upsample_h2v1, plain.upsample_h2v2, plain.upsample_h1v2};
}

#else

namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::ScalableTag<std::uint16_t>;
using D8 = hn::Rebind<std::uint8_t, D16>;
using V16 = hn::Vec<D16>;
constexpr D16 d16;
constexpr D8 d8;

HWY_INLINE V16 load(const std::uint8_t* from) { return hn::PromoteTo(d16, hn::LoadU(d8, from)); }
HWY_INLINE V16 three_times(V16 v) { return hn::Add(v, hn::Add(v, v)); }

/// Pairs of samples, both less than 256: one byte each, the even one first.
HWY_INLINE void store_pairs(V16 even, V16 odd, std::uint8_t* out) {
  const hn::Repartition<std::uint8_t, D16> bytes;
  hn::StoreU(hn::BitCast(bytes, hn::Or(even, hn::ShiftLeft<8>(odd))), bytes, out);
}

void h2v1(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  const V16 one = hn::Set(d16, 1), two = hn::Set(d16, 2);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d16)) {
    const V16 centre = three_times(load(in + i));
    const V16 even = hn::ShiftRight<2>(hn::Add(hn::Add(centre, load(in + i - 1)), one));
    const V16 odd = hn::ShiftRight<2>(hn::Add(hn::Add(centre, load(in + i + 1)), two));
    store_pairs(even, odd, out + 2 * i);
  }
}

void h2v2(const std::uint8_t* near, const std::uint8_t* far, std::size_t count, std::uint8_t* out) {
  const V16 seven = hn::Set(d16, 7), eight = hn::Set(d16, 8);
  const auto sum = [&](std::size_t i)
                       HWY_ATTR { return hn::Add(three_times(load(near + i)), load(far + i)); };
  for (std::size_t i = 0; i < count; i += hn::Lanes(d16)) {
    const V16 centre = three_times(sum(i));
    const V16 even = hn::ShiftRight<4>(hn::Add(hn::Add(centre, sum(i - 1)), eight));
    const V16 odd = hn::ShiftRight<4>(hn::Add(hn::Add(centre, sum(i + 1)), seven));
    store_pairs(even, odd, out + 2 * i);
  }
}

void h1v2(const std::uint8_t* near, const std::uint8_t* far, int bias, std::size_t count,
          std::uint8_t* out) {
  const V16 rounding = hn::Set(d16, static_cast<std::uint16_t>(bias));
  for (std::size_t i = 0; i < count; i += hn::Lanes(d16)) {
    const V16 sum = hn::Add(three_times(load(near + i)), load(far + i));
    hn::StoreU(hn::DemoteTo(d8, hn::BitCast(hn::RebindToSigned<D16>(),
                                            hn::ShiftRight<2>(hn::Add(sum, rounding)))),
               d8, out + i);
  }
}

}  // namespace

UpsampleKernels upsampling_of_target() { return {h2v1, h2v2, h1v2}; }

#endif

}  // namespace packhorse::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace packhorse::jpeg {

HWY_EXPORT(upsampling_of_target);
UpsampleKernels fastest_upsampling() { return HWY_DYNAMIC_DISPATCH(upsampling_of_target)(); }

}  // namespace packhorse::jpeg
#endif
