#include <algorithm>
#include <limits>

#include "packhorse/reader/pixel_format.h"
#include "pixel_format/pixel_kernels.h"

namespace packhorse::reader {

namespace {

template <class Number>
Number nearest(float fraction) {
  constexpr auto kMost = static_cast<float>(std::numeric_limits<Number>::max());
  return static_cast<Number>(std::clamp(fraction, 0.F, 1.F) * kMost + .5F);
}

/// Puts convert(value, band) of each value where the layout has it.
template <class Number, class Convert>
void write(std::span<const float> in, std::size_t bands, PixelLayout layout, Number* out,
           const Convert& convert) {
  const std::size_t pixels = in.size() / bands;
  const bool planes = layout == PixelLayout::kPlanes;
  for (std::size_t band = 0; band < bands; ++band) {
    const float* from = in.data() + band;
    Number* to = out + (planes ? band * pixels : band);
    const std::size_t step = planes ? 1 : bands;
    for (std::size_t i = 0; i < pixels; ++i) to[i * step] = convert(from[i * bands], band);
  }
}

}  // namespace

void write_bands(std::span<const float> in, std::size_t bands, const PixelFormat& format,
                 std::span<std::uint8_t> out) {
  const auto normalised = [&](float value, std::size_t band) {
    return format.mean.empty() ? value : (value - format.mean[band]) / format.deviation[band];
  };
  switch (format.type) {
    case PixelType::kUint8:
      return write(in, bands, format.layout, out.data(),
                   [](float value, std::size_t) { return nearest<std::uint8_t>(value); });
    case PixelType::kUint16:
      return write(in, bands, format.layout, reinterpret_cast<std::uint16_t*>(out.data()),
                   [](float value, std::size_t) { return nearest<std::uint16_t>(value); });
    case PixelType::kFloat32:
      return write(in, bands, format.layout, reinterpret_cast<float*>(out.data()), normalised);
    case PixelType::kFloat16:
      return write(in, bands, format.layout, reinterpret_cast<Half*>(out.data()),
                   [&](float value, std::size_t band) { return half_of(normalised(value, band)); });
  }
}

}  // namespace packhorse::reader
