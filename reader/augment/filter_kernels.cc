#include <hwy/base.h>

#include "augment/filters.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "augment/filter_kernels.cc"
// These must come last.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Built with -ffp-contract=off, as color_steps.cc is.
HWY_BEFORE_NAMESPACE();
namespace packhorse::reader::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // no vectors

FilterKernels filter_kernels_of_target() { return plain_filter_kernels(); }

#else

namespace {

namespace hn = hwy::HWY_NAMESPACE;

using FF = hn::ScalableTag<float>;
using F32 = hn::Rebind<std::int32_t, FF>;
using F16 = hn::Rebind<std::int16_t, FF>;
using F8 = hn::Rebind<std::uint8_t, FF>;
using W16 = hn::ScalableTag<std::uint16_t>;  // twice as many lanes
using W8 = hn::Rebind<std::uint8_t, W16>;
constexpr FF ff;
constexpr F32 f32;
constexpr F16 f16;
constexpr F8 f8;
constexpr W16 w16;
constexpr W8 w8;

HWY_INLINE hn::Vec<W16> wide_at(const std::uint8_t* at) {
  return hn::PromoteTo(w16, hn::LoadU(w8, at));
}

HWY_INLINE hn::Vec<W16> three_at(const std::uint8_t* at) {
  return hn::Add(hn::Add(wide_at(at - kChannels), wide_at(at)), wide_at(at + kChannels));
}

HWY_INLINE hn::Vec<FF> number_of(hn::Vec<F16> level) {
  return hn::ConvertTo(ff, hn::PromoteTo(f32, level));
}

/// level + difference * share, truncated.
HWY_INLINE hn::Vec<F16> moved(hn::Vec<F16> level, hn::Vec<F16> difference, hn::Vec<FF> share) {
  const auto made = hn::Add(number_of(level), hn::Mul(number_of(difference), share));
  const auto clamped = hn::Min(hn::Max(made, hn::Zero(ff)), hn::Set(ff, 255.0F));
  return hn::DemoteTo(f16, hn::ConvertTo(f32, hn::Trunc(clamped)));
}

void sharpen_row(const std::uint8_t* above, const std::uint8_t* row, const std::uint8_t* below,
                 float share, std::size_t count, std::uint8_t* out) {
  const hn::Half<hn::RebindToSigned<W16>> half;
  const auto by = hn::Set(ff, share);
  const std::size_t lanes = hn::Lanes(w16);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto level = wide_at(row + i);
    const auto around =
        hn::Add(hn::Add(three_at(above + i), three_at(row + i)), three_at(below + i));
    const auto sum = hn::Add(around, hn::ShiftLeft<2>(level));
    // (sum + 6) / 13, exact for sums up to 13 x 255.
    const auto mean = hn::MulHigh(hn::Add(sum, hn::Set(w16, 6)), hn::Set(w16, 5042));
    const auto d16 = hn::RebindToSigned<W16>();
    const auto levels = hn::BitCast(d16, level),
               difference = hn::BitCast(d16, hn::Sub(mean, level));
    const auto lower = moved(hn::LowerHalf(half, levels), hn::LowerHalf(half, difference), by);
    const auto upper = moved(hn::UpperHalf(half, levels), hn::UpperHalf(half, difference), by);
    hn::StoreU(hn::DemoteTo(w8, hn::Combine(d16, upper, lower)), w8, out + i);
  }
  plain_filter_kernels().sharpen_row(above + i, row + i, below + i, share, count - i, out + i);
}

void blur_down(std::span<const std::uint8_t* const> rows, std::span<const float> weights,
               std::size_t count, float* out) {
  const auto level = [](const std::uint8_t* at) { return hn::PromoteTo(f16, hn::LoadU(f8, at)); };
  for (std::size_t i = 0; i < count; i += hn::Lanes(ff)) {
    auto sum = hn::Mul(hn::Set(ff, weights[0]), number_of(level(rows[0] + i)));
    for (std::size_t k = 1; k < weights.size(); ++k) {
      const auto both = hn::Add(level(rows[2 * k - 1] + i), level(rows[2 * k] + i));
      sum = hn::Add(sum, hn::Mul(hn::Set(ff, weights[k]), number_of(both)));
    }
    hn::StoreU(sum, ff, out + i);
  }
}

void blur_across(const float* row, std::span<const float> weights, std::size_t count,
                 std::uint8_t* out) {
  const std::size_t lanes = hn::Lanes(ff);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const float* const at = row + i;
    auto sum = hn::Mul(hn::Set(ff, weights[0]), hn::LoadU(ff, at));
    for (std::size_t k = 1; k < weights.size(); ++k) {
      const auto way = static_cast<std::ptrdiff_t>(k) * kChannels;
      const auto both = hn::Add(hn::LoadU(ff, at - way), hn::LoadU(ff, at + way));
      sum = hn::Add(sum, hn::Mul(hn::Set(ff, weights[k]), both));
    }
    const auto levels = hn::NearestInt(hn::Min(sum, hn::Set(ff, 255.0F)));
    hn::StoreU(hn::DemoteTo(f8, levels), f8, out + i);
  }
  plain_filter_kernels().blur_across(row + i, weights, count - i, out + i);
}

}  // namespace

FilterKernels filter_kernels_of_target() {
  return {hwy::TargetName(HWY_TARGET), sharpen_row, blur_down, blur_across};
}

#endif

}  // namespace packhorse::reader::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace packhorse::reader {

HWY_EXPORT(filter_kernels_of_target);
FilterKernels fastest_filter_kernels() { return HWY_DYNAMIC_DISPATCH(filter_kernels_of_target)(); }

}  // namespace packhorse::reader
#endif
