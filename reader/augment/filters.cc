#include "augment/filters.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace packhorse::reader {

namespace {

const FilterKernels& filter_kernels() {
  static const FilterKernels kKernels = fastest_filter_kernels();
  return kKernels;
}

/// The middle weight of a Gaussian kernel of `length`, and those on either side of it.
std::vector<float> gaussian_weights(int length, double sigma) {
  constexpr double kLeast = 1e-6;
  std::vector<double> exact;
  double sum = 0;
  for (int i = 0; i <= length / 2; ++i) {
    exact.push_back(std::exp(-.5 * (i / sigma) * (i / sigma)));
    sum += (i == 0 ? 1 : 2) * exact.back();
  }
  std::vector<float> weights;
  for (const double weight : exact) {
    if (!weights.empty() && weight < kLeast * sum) break;
    weights.push_back(static_cast<float>(weight / sum));
  }
  return weights;
}

/// The place within 0 and length - 1 that `i` is mirrored to: -1 is 1.
int mirrored(int i, int length) {
  if (length == 1) return 0;
  const int period = 2 * (length - 1), place = ((i % period) + period) % period;
  return std::min(place, period - place);
}

}  // namespace

void sharpen(const Picture& picture, double factor) {
  const int width = picture.width, height = picture.height();
  if (width <= 2 || height <= 2) return;
  const PixelView source = picture.copy();
  for (int y = 1; y + 1 < height; ++y) {
    const std::uint8_t* row = source.data + static_cast<std::size_t>(y) * source.stride + kChannels;
    filter_kernels().sharpen_row(
        row - source.stride, row, row + source.stride, static_cast<float>(1 - factor),
        static_cast<std::size_t>(width - 2) * kChannels,
        picture.pixels.data() + static_cast<std::size_t>(y) * source.stride + kChannels);
  }
}

void gaussian_blur(const Picture& picture, int kernel_width, int kernel_height, double sigma) {
  const int width = picture.width, height = picture.height();
  const std::vector<float> across = gaussian_weights(kernel_width, sigma);
  const std::vector<float> down = gaussian_weights(kernel_height, sigma);
  const PixelView source = picture.copy();
  const auto row_at = [&](int y) {
    return source.data + static_cast<std::size_t>(mirrored(y, height)) * source.stride;
  };
  const int beside = static_cast<int>(across.size()) - 1;
  std::vector<float> line(static_cast<std::size_t>(width + 2 * beside) * kChannels +
                          PixelBuffer::kSlack);
  float* const middle = line.data() + std::ptrdiff_t{beside} * kChannels;
  std::vector<const std::uint8_t*> rows(2 * down.size() - 1);
  for (int y = 0; y < height; ++y) {
    rows[0] = row_at(y);
    for (std::size_t k = 1; k < down.size(); ++k) {
      rows[2 * k - 1] = row_at(y - static_cast<int>(k));
      rows[2 * k] = row_at(y + static_cast<int>(k));
    }
    filter_kernels().blur_down(rows, down, source.stride, middle);
    for (int i = 1; i <= beside; ++i) {
      const auto copy = [&](int from, int to) {
        std::copy_n(middle + std::ptrdiff_t{from} * kChannels, kChannels,
                    middle + std::ptrdiff_t{to} * kChannels);
      };
      copy(mirrored(-i, width), -i);
      copy(mirrored(width - 1 + i, width), width - 1 + i);
    }
    filter_kernels().blur_across(
        middle, across, source.stride,
        picture.pixels.data() + static_cast<std::size_t>(y) * source.stride);
  }
}

}  // namespace packhorse::reader
