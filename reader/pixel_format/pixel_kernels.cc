#include "pixel_format/pixel_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel_format/pixel_kernels.cc"
// These must come last.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Older processors have no instruction that rounds to 16 bits, and Highway's stand-in truncates.
#undef PACKHORSE_ROUNDS_TO_HALF
#if HWY_ARCH_ARM_A64 || (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)
#define PACKHORSE_ROUNDS_TO_HALF 1
#else
#define PACKHORSE_ROUNDS_TO_HALF 0
#endif

HWY_BEFORE_NAMESPACE();
namespace packhorse::reader::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // no vectors

PixelKernels pixel_kernels_of_target() { return plain_pixel_kernels(); }

#else

namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DFloat = hn::CappedTag<float, 16>;
using DInt = hn::RebindToSigned<DFloat>;
using DHalf = hn::Rebind<hwy::float16_t, DFloat>;
using DHalfBits = hn::Rebind<Half, DFloat>;
using DByte = hn::Rebind<std::uint8_t, DFloat>;
using DBytes = hn::CappedTag<std::uint8_t, 16>;
using VFloat = hn::Vec<DFloat>;
using VByte = hn::Vec<DByte>;
constexpr DFloat dfloat;

/// A channel's constants.
struct Channel {
  VFloat mean, deviation;
};

HWY_INLINE Channel channel_of(const Normalization& by, std::size_t c) {
  return {hn::Set(dfloat, by.mean[c]), hn::Set(dfloat, by.deviation[c])};
}

/// Divisions, not multiplications: the result must be torchvision's, bit for bit.
HWY_INLINE VFloat normalized(VByte x, const Channel& channel) {
  const VFloat value = hn::ConvertTo(dfloat, hn::PromoteTo(DInt(), x));
  const VFloat scaled = hn::Div(value, hn::Set(dfloat, 255.0f));
  return hn::Div(hn::Sub(scaled, channel.mean), channel.deviation);
}

HWY_INLINE void store(VFloat values, float* out) { hn::StoreU(values, dfloat, out); }

HWY_INLINE void store_interleaved(VFloat r, VFloat g, VFloat b, float* out) {
  hn::StoreInterleaved3(r, g, b, dfloat, out);
}

#if PACKHORSE_ROUNDS_TO_HALF
HWY_INLINE hn::Vec<DHalfBits> half_bits(VFloat values) {
  return hn::BitCast(DHalfBits(), hn::DemoteTo(DHalf(), values));
}

HWY_INLINE void store(VFloat values, Half* out) { hn::StoreU(half_bits(values), DHalfBits(), out); }

HWY_INLINE void store_interleaved(VFloat r, VFloat g, VFloat b, Half* out) {
  hn::StoreInterleaved3(half_bits(r), half_bits(g), half_bits(b), DHalfBits(), out);
}
#endif

/// Calls write(i, r, g, b) with the channels of whole vectors of pixels, normalised. Returns the
/// number of pixels in them.
template <class Write>
HWY_INLINE std::size_t for_vectors(const std::uint8_t* in, std::size_t count,
                                   const Normalization& by, const Write& write) {
  const std::size_t lanes = hn::Lanes(dfloat);
  const Channel red = channel_of(by, 0), green = channel_of(by, 1), blue = channel_of(by, 2);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    VByte r, g, b;
    hn::LoadInterleaved3(DByte(), in + 3 * i, r, g, b);
    write(i, normalized(r, red), normalized(g, green), normalized(b, blue));
  }
  return i;
}

template <class T>
std::size_t planes(const std::uint8_t* in, std::size_t count, const Normalization& by,
                   const std::array<T*, 3>& out) {
  return for_vectors(in, count, by, [&](std::size_t i, VFloat r, VFloat g, VFloat b) HWY_ATTR {
    store(r, out[0] + i);
    store(g, out[1] + i);
    store(b, out[2] + i);
  });
}

template <class T>
std::size_t interleaved(const std::uint8_t* in, std::size_t count, const Normalization& by,
                        T* out) {
  return for_vectors(in, count, by, [&](std::size_t i, VFloat r, VFloat g, VFloat b) HWY_ATTR {
    store_interleaved(r, g, b, out + 3 * i);
  });
}

template <class T>
std::array<T*, 3> from(const std::array<T*, 3>& planes, std::size_t pixel) {
  return {planes[0] + pixel, planes[1] + pixel, planes[2] + pixel};
}

void byte_planes(const std::uint8_t* in, std::size_t count, const PixelKernels::Bytes& out) {
  const DBytes d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::Vec<DBytes> r, g, b;
    hn::LoadInterleaved3(d, in + 3 * i, r, g, b);
    hn::StoreU(r, d, out[0] + i);
    hn::StoreU(g, d, out[1] + i);
    hn::StoreU(b, d, out[2] + i);
  }
  plain_pixel_kernels().byte_planes(in + 3 * i, count - i, from(out, i));
}

void float_planes(const std::uint8_t* in, std::size_t count, const Normalization& by,
                  const PixelKernels::Floats& out) {
  const std::size_t i = planes(in, count, by, out);
  plain_pixel_kernels().float_planes(in + 3 * i, count - i, by, from(out, i));
}

void floats(const std::uint8_t* in, std::size_t count, const Normalization& by, float* out) {
  const std::size_t i = interleaved(in, count, by, out);
  plain_pixel_kernels().floats(in + 3 * i, count - i, by, out + 3 * i);
}

#if PACKHORSE_ROUNDS_TO_HALF
void half_planes(const std::uint8_t* in, std::size_t count, const Normalization& by,
                 const PixelKernels::Halves& out) {
  const std::size_t i = planes(in, count, by, out);
  plain_pixel_kernels().half_planes(in + 3 * i, count - i, by, from(out, i));
}

void halves(const std::uint8_t* in, std::size_t count, const Normalization& by, Half* out) {
  const std::size_t i = interleaved(in, count, by, out);
  plain_pixel_kernels().halves(in + 3 * i, count - i, by, out + 3 * i);
}

void blend_halves(const Half* other, std::size_t count, float share, Half* own) {
  const std::size_t lanes = hn::Lanes(dfloat);
  const VFloat own_share = hn::Set(dfloat, share), other_share = hn::Set(dfloat, 1 - share);
  const auto load = [](const Half* from) HWY_ATTR {
    return hn::PromoteTo(dfloat, hn::BitCast(DHalf(), hn::LoadU(DHalfBits(), from)));
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    store(hn::Add(hn::Mul(load(own + i), own_share), hn::Mul(load(other + i), other_share)),
          own + i);
  }
  plain_pixel_kernels().blend_halves(other + i, count - i, share, own + i);
}
#endif

}  // namespace

PixelKernels pixel_kernels_of_target() {
  PixelKernels kernels = plain_pixel_kernels();
  kernels.byte_planes = byte_planes;
  kernels.float_planes = float_planes;
  kernels.floats = floats;
#if PACKHORSE_ROUNDS_TO_HALF
  kernels.half_planes = half_planes;
  kernels.halves = halves;
  kernels.blend_halves = blend_halves;
#endif
  return kernels;
}

#endif

}  // namespace packhorse::reader::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace packhorse::reader {

HWY_EXPORT(pixel_kernels_of_target);
PixelKernels fastest_pixel_kernels() { return HWY_DYNAMIC_DISPATCH(pixel_kernels_of_target)(); }

}  // namespace packhorse::reader
#endif
