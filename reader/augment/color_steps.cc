#include "augment/color_steps.h"

#include <hwy/base.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "augment/color_steps.cc"
// These must come last.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Built with -ffp-contract=off: an addition that is fused with a multiplication rounds once, and
// processors would differ.
HWY_BEFORE_NAMESPACE();
namespace packhorse::reader::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // no vectors

ColorSteps color_steps_of_target() { return plain_color_steps(); }

#else

namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using D32 = hn::Rebind<std::int32_t, DF>;
using D8 = hn::Rebind<std::uint8_t, DF>;
using D8x16 = hn::FixedTag<std::uint8_t, 16>;
using VF = hn::Vec<DF>;
constexpr DF df;
constexpr D32 d32;
constexpr D8 d8;
constexpr D8x16 d8x16;

constexpr std::size_t kTogether = 16;  // pixels whose channels are parted at once
constexpr std::size_t kBlock = 256;    // pixels: their planes stay in the nearest cache

/// The channels of a block, as bytes and as the numbers that steps work with.
struct VectorPlanes {
  HWY_ALIGN std::uint8_t bytes[3][kBlock];
  HWY_ALIGN float levels[3][kBlock];
};

void part(const std::uint8_t* pixels, std::size_t count, VectorPlanes& to) {
  for (std::size_t i = 0; i < count; i += kTogether) {
    hn::Vec<D8x16> r, g, b;
    hn::LoadInterleaved3(d8x16, pixels + 3 * i, r, g, b);
    hn::Store(r, d8x16, to.bytes[0] + i);
    hn::Store(g, d8x16, to.bytes[1] + i);
    hn::Store(b, d8x16, to.bytes[2] + i);
  }
}

void join(const VectorPlanes& from, std::size_t count, std::uint8_t* pixels) {
  for (std::size_t i = 0; i < count; i += kTogether) {
    hn::StoreInterleaved3(hn::Load(d8x16, from.bytes[0] + i), hn::Load(d8x16, from.bytes[1] + i),
                          hn::Load(d8x16, from.bytes[2] + i), d8x16, pixels + 3 * i);
  }
}

HWY_INLINE VF levels_at(const std::uint8_t* at) {
  return hn::ConvertTo(df, hn::PromoteTo(d32, hn::Load(d8, at)));
}

HWY_INLINE VF truncated(VF value) { return hn::Trunc(value); }
HWY_INLINE VF clamped(VF value) {
  return hn::Min(hn::Max(value, hn::Zero(df)), hn::Set(df, 255.0F));
}

HWY_INLINE VF grey_of(VF r, VF g, VF b) {
  const VF sum = hn::Add(hn::Add(hn::Mul(r, hn::Set(df, 0.2989F)), hn::Mul(g, hn::Set(df, 0.587F))),
                         hn::Mul(b, hn::Set(df, 0.114F)));
  return truncated(sum);
}

/// Some pixels' channels.
struct Colors {
  VF r, g, b;
};

HWY_INLINE void adjust_levels(const ColorStep& step, Colors& c) {
  const VF a = hn::Set(df, step.a), b = hn::Set(df, step.b);
  c.r = clamped(hn::Add(hn::Mul(c.r, a), b));
  c.g = clamped(hn::Add(hn::Mul(c.g, a), b));
  c.b = clamped(hn::Add(hn::Mul(c.b, a), b));
}

HWY_INLINE void adjust_saturation(const ColorStep& step, Colors& c) {
  const VF a = hn::Set(df, step.a);
  const VF grey = hn::Mul(hn::Set(df, step.b), grey_of(c.r, c.g, c.b));
  c.r = clamped(hn::Add(hn::Mul(c.r, a), grey));
  c.g = clamped(hn::Add(hn::Mul(c.g, a), grey));
  c.b = clamped(hn::Add(hn::Mul(c.b, a), grey));
}

HWY_INLINE VF channel_of(float n, VF sixths, VF highest, VF range) {
  const VF six = hn::Set(df, 6.0F);
  VF k = hn::Add(hn::Set(df, n), sixths);
  k = hn::IfThenElse(hn::Ge(k, six), hn::Sub(k, six), k);
  const VF share = hn::Min(hn::Min(k, hn::Sub(hn::Set(df, 4.0F), k)), hn::Set(df, 1.0F));
  const VF level = hn::Sub(highest, hn::Mul(range, hn::Max(share, hn::Zero(df))));
  return hn::Mul(level, hn::Set(df, 255.999F / 255));
}

HWY_INLINE void turn_hue(const ColorStep& step, Colors& c) {
  const VF zero = hn::Zero(df), six = hn::Set(df, 6.0F);
  const VF highest = hn::Max(c.r, hn::Max(c.g, c.b));
  const VF range = hn::Sub(highest, hn::Min(c.r, hn::Min(c.g, c.b)));
  const VF divisor = hn::IfThenElse(hn::Gt(range, zero), range, hn::Set(df, 1.0F));
  const auto is_red = hn::Eq(highest, c.r), is_green = hn::Eq(highest, c.g);
  const VF difference = hn::IfThenElse(
      is_red, hn::Sub(c.g, c.b), hn::IfThenElse(is_green, hn::Sub(c.b, c.r), hn::Sub(c.r, c.g)));
  const VF from =
      hn::IfThenElse(is_red, zero, hn::IfThenElse(is_green, hn::Set(df, 2.0F), hn::Set(df, 4.0F)));
  VF sixths = hn::Add(hn::Add(from, hn::Div(difference, divisor)), hn::Set(df, step.a));
  sixths = hn::IfThenElse(hn::Lt(sixths, zero), hn::Add(sixths, six), sixths);
  sixths = hn::IfThenElse(hn::Ge(sixths, six), hn::Sub(sixths, six), sixths);
  c.r = channel_of(5, sixths, highest, range);
  c.g = channel_of(3, sixths, highest, range);
  c.b = channel_of(1, sixths, highest, range);
}

/// One step for a whole block, so that what it needs stays in registers.
template <ColorStep::Kind kKind>
void adjust(const ColorStep& step, std::size_t count, VectorPlanes& planes) {
  auto& [r, g, b] = planes.levels;
  for (std::size_t i = 0; i < count; i += hn::Lanes(df)) {
    Colors c{hn::Load(df, r + i), hn::Load(df, g + i), hn::Load(df, b + i)};
    if constexpr (kKind == ColorStep::Kind::kLevels) adjust_levels(step, c);
    if constexpr (kKind == ColorStep::Kind::kSaturation) adjust_saturation(step, c);
    if constexpr (kKind == ColorStep::Kind::kHue) turn_hue(step, c);
    hn::Store(truncated(c.r), df, r + i);
    hn::Store(truncated(c.g), df, g + i);
    hn::Store(truncated(c.b), df, b + i);
  }
}

void adjust(const ColorStep& step, std::size_t count, VectorPlanes& planes) {
  using Kind = ColorStep::Kind;
  if (step.kind == Kind::kLevels) adjust<Kind::kLevels>(step, count, planes);
  if (step.kind == Kind::kSaturation) adjust<Kind::kSaturation>(step, count, planes);
  if (step.kind == Kind::kHue) adjust<Kind::kHue>(step, count, planes);
}

/// `count` is a multiple of kTogether.
void adjust_block(std::uint8_t* pixels, std::size_t count, std::span<const ColorStep> steps) {
  VectorPlanes planes;
  part(pixels, count, planes);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t i = 0; i < count; i += hn::Lanes(df))
      hn::Store(levels_at(planes.bytes[channel] + i), df, planes.levels[channel] + i);
  }
  for (const ColorStep& step : steps) adjust(step, count, planes);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t i = 0; i < count; i += hn::Lanes(df)) {
      const auto levels = hn::ConvertTo(d32, hn::Load(df, planes.levels[channel] + i));
      hn::Store(hn::DemoteTo(d8, levels), d8, planes.bytes[channel] + i);
    }
  }
  join(planes, count, pixels);
}

void apply_steps(std::span<std::uint8_t> pixels, std::span<const ColorStep> steps) {
  const std::size_t total = pixels.size() / 3, whole = total - total % kTogether;
  for (std::size_t begin = 0; begin < whole; begin += kBlock)
    adjust_block(pixels.data() + 3 * begin, std::min(kBlock, whole - begin), steps);
  if (whole == total) return;
  std::array<std::uint8_t, 3 * kTogether> rest{};
  const std::span<std::uint8_t> last = pixels.subspan(3 * whole, 3 * (total - whole));
  std::copy(last.begin(), last.end(), rest.begin());
  adjust_block(rest.data(), kTogether, steps);
  std::copy_n(rest.begin(), last.size(), last.begin());
}

std::uint64_t block_grey_sum(const std::uint8_t* pixels, std::size_t count) {
  VectorPlanes planes;
  part(pixels, count, planes);
  const auto& [r, g, b] = planes.bytes;
  auto sums = hn::Zero(d32);
  for (std::size_t i = 0; i < count; i += hn::Lanes(df)) {
    const VF grey = grey_of(levels_at(r + i), levels_at(g + i), levels_at(b + i));
    sums = hn::Add(sums, hn::ConvertTo(d32, grey));
  }
  return static_cast<std::uint64_t>(hn::GetLane(hn::SumOfLanes(d32, sums)));
}

std::uint64_t grey_sum_of(std::span<const std::uint8_t> pixels) {
  const std::size_t total = pixels.size() / 3, whole = total - total % kTogether;
  std::uint64_t sum = 0;
  for (std::size_t begin = 0; begin < whole; begin += kBlock)
    sum += block_grey_sum(pixels.data() + 3 * begin, std::min(kBlock, whole - begin));
  return sum + plain_color_steps().grey_sum(pixels.subspan(3 * whole));
}

}  // namespace

ColorSteps color_steps_of_target() {
  return {hwy::TargetName(HWY_TARGET), grey_sum_of, apply_steps};
}

#endif

}  // namespace packhorse::reader::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace packhorse::reader {

HWY_EXPORT(color_steps_of_target);
ColorSteps fastest_color_steps() { return HWY_DYNAMIC_DISPATCH(color_steps_of_target)(); }

}  // namespace packhorse::reader
#endif
