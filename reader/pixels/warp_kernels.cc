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
SampleCubic sample_cubic_of_target() { return sample_cubic_plainly; }

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

constexpr std::uint8_t kNone = 0x80;
// Two pixels r g b R G B become the 16-bit numbers r R g G b B 0 0.
alignas(16) constexpr std::uint8_t kSpread[16] = {0, kNone, 3, kNone, 1,     kNone, 4,     kNone,
                                                  2, kNone, 5, kNone, kNone, kNone, kNone, kNone};
// The same of the two pixels after them.
alignas(16) constexpr std::uint8_t kSpreadNext[16] = {
    6, kNone, 9, kNone, 7, kNone, 10, kNone, 8, kNone, 11, kNone, kNone, kNone, kNone, kNone};
// The 32-bit numbers r g b 0 become the bytes r g b 0.
alignas(16) constexpr std::uint8_t kGather[16] = {0, 4, 8, 12};

/// Two weights for each channel.
HWY_INLINE hn::Vec<L16> weights_of(std::int16_t first, std::int16_t second) {
  return hn::BitCast(l16, hn::Set(l32, (first & 0xffff) | (second * (1 << 16))));
}

void sample_cubic(const CubicLine& line, std::int64_t count, std::uint8_t* out) {
  const auto spread = hn::Load(l8, kSpread), next = hn::Load(l8, kSpreadNext);
  const auto gather = hn::Load(l8, kGather);
  constexpr int kShift = 2 * kCubicBits - kCubicLostBits;
  const Four half = hn::Set(l32, 1 << (kShift - 1)), low = hn::Set(l32, 0xffff);
  std::int64_t x = line.x, y = line.y;
  for (std::int64_t i = 0; i < count; ++i, x += line.step_x, y += line.step_y, out += 3) {
    const CubicWeights &across = line.weights_at(x), &down = line.weights_at(y);
    const auto left = weights_of(across[0], across[1]), right = weights_of(across[2], across[3]);
    const std::uint8_t* const pixels = line.pixels_at(x, y);
    const auto row = [&](std::size_t k) {
      const auto four = hn::LoadU(l8, pixels + k * line.stride);
      const auto pair = [&](auto order) {
        return hn::BitCast(l16, hn::TableLookupBytesOr0(four, order));
      };
      return hn::ShiftRight<kCubicLostBits>(
          hn::Add(mixed(pair(spread), left), mixed(pair(next), right)));
    };
    const auto rows = [&](Four upper, Four lower, std::size_t k) {
      const auto pairs = hn::Or(hn::And(upper, low), hn::ShiftLeft<16>(lower));
      return mixed(hn::BitCast(l16, pairs), weights_of(down[k], down[k + 1]));
    };
    const Four sum = hn::Add(rows(row(0), row(1), 0), rows(row(2), row(3), 2));
    const Four level = hn::ShiftRight<kShift>(hn::Add(sum, half));
    const Four rgb = hn::Min(hn::Max(level, hn::Zero(l32)), hn::Set(l32, 255));
    const auto bytes = hn::TableLookupBytes(hn::BitCast(l8, rgb), gather);
    const auto pixel = hn::GetLane(hn::BitCast(l32, bytes));
    // The byte after the last pixel is another's.
    std::memcpy(out, &pixel, i + 1 < count ? 4 : 3);
  }
}

void sample_line(const WarpLine& line, int count, std::uint8_t* out) {
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
SampleCubic sample_cubic_of_target() { return sample_cubic; }

#endif

}  // namespace packhorse::reader::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace packhorse::reader {

HWY_EXPORT(sample_line_of_target);
HWY_EXPORT(sample_cubic_of_target);
SampleLine fastest_sample_line() { return HWY_DYNAMIC_DISPATCH(sample_line_of_target)(); }
SampleCubic fastest_sample_cubic() { return HWY_DYNAMIC_DISPATCH(sample_cubic_of_target)(); }

}  // namespace packhorse::reader
#endif
