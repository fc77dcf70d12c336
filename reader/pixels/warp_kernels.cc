#include "pixels/warp_kernels.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixels/warp_kernels.cc"
// These must come last.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace packhorse::reader::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // no vectors

SampleLine sample_line_of_target() { return sample_line_plainly; }

#else

namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A pixel at a time, its channels in a vector: the neighbours lie anywhere.
using L8 = hn::FixedTag<std::uint8_t, 16>;
using L16 = hn::FixedTag<std::int16_t, 8>;
using L32 = hn::FixedTag<std::int32_t, 4>;
constexpr L8 l8;
constexpr L16 l16;
constexpr L32 l32;
using Four = hn::Vec<L32>;

/// (1 - share, share) for each channel.
HWY_INLINE hn::Vec<L16> shares_of(std::int32_t position) {
  constexpr std::int32_t kAll = 1 << kShareBits;
  constexpr int kRest = kFixedBits - kShareBits;
  const std::int32_t fraction = position & ((1 << kFixedBits) - 1);
  const std::int32_t share = (fraction + (1 << (kRest - 1))) >> kRest;
  return hn::BitCast(l16, hn::Set(l32, (kAll - share) | (share << 16)));
}

/// Sums of neighbouring numbers times their shares: the channels.
HWY_INLINE Four mixed(hn::Vec<L16> pairs, hn::Vec<L16> shares) {
  Four rest = hn::Zero(l32);
  const Four sums = hn::ReorderWidenMulAccumulate(l32, pairs, shares, hn::Zero(l32), rest);
  return hn::RearrangeToOddPlusEven(sums, rest);
}

void sample_line(const WarpLine& line, int count, std::uint8_t* out) {
  constexpr std::uint8_t kNone = 0x80;
  // Two pixels r g b R G B become the 16-bit numbers r R g G b B 0 0.
  alignas(16) static constexpr std::uint8_t kSpread[16] = {
      0, kNone, 3, kNone, 1, kNone, 4, kNone, 2, kNone, 5, kNone, kNone, kNone, kNone, kNone};
  // The 32-bit numbers r g b 0 become the bytes r g b 0.
  alignas(16) static constexpr std::uint8_t kGather[16] = {0, 4, 8, 12};
  const auto spread = hn::Load(l8, kSpread), gather = hn::Load(l8, kGather);
  constexpr int kShift = 2 * kShareBits - kLostBits;
  const Four half = hn::Set(l32, 1 << (kShift - 1));
  const hn::Half<L8> eight;
  std::int32_t x = line.x, y = line.y;
  for (int i = 0; i < count; ++i, x += line.step_x, y += line.step_y, out += 3) {
    const std::uint8_t* upper = line.pixels +
                                static_cast<std::size_t>(y >> kFixedBits) * line.stride +
                                static_cast<std::size_t>(x >> kFixedBits) * 3;
    const auto row = [&](const std::uint8_t* at) {
      const auto two = hn::ZeroExtendVector(l8, hn::LoadU(eight, at));
      return hn::BitCast(l16, hn::TableLookupBytesOr0(two, spread));
    };
    const auto across = shares_of(x), down = shares_of(y);
    const Four above = hn::ShiftRight<kLostBits>(mixed(row(upper), across));
    const Four below = hn::ShiftRight<kLostBits>(mixed(row(upper + line.stride), across));
    const auto pairs = hn::BitCast(l16, hn::Or(above, hn::ShiftLeft<16>(below)));
    const Four rgb = hn::ShiftRight<kShift>(hn::Add(mixed(pairs, down), half));
    const auto bytes = hn::TableLookupBytes(hn::BitCast(l8, rgb), gather);
    const auto four = hn::GetLane(hn::BitCast(l32, bytes));
    // The byte after the last pixel is another's.
    std::memcpy(out, &four, i + 1 < count ? 4 : 3);
  }
}

}  // namespace

SampleLine sample_line_of_target() { return sample_line; }

#endif

}  // namespace packhorse::reader::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace packhorse::reader {

HWY_EXPORT(sample_line_of_target);
SampleLine fastest_sample_line() { return HWY_DYNAMIC_DISPATCH(sample_line_of_target)(); }

}  // namespace packhorse::reader
#endif
