#include <algorithm>
#include <cmath>
#include <cstring>

#include "codecs/colour_rows.h"
#include "image/picture.h"
#include "packhorse/base/error.h"
#include "transforms/area.h"
#include "transforms/transform.h"

namespace packhorse::transforms {

namespace {

/// Where the pixels come from and go to: a window of the source fills a part of the square.
struct Placement {
  double window_x = 0, window_y = 0;        ///< left and top of the window, pixels of the file
  double ratio = 1;                         ///< pixels of the file for each pixel of the square
  int x = 0, y = 0, width = 0, height = 0;  ///< the part of the square
};

Placement place(const ImageInfo& info, const TransformOptions& options) {
  const int size = options.size;
  Placement to{.width = size, .height = size};
  const double w = info.width, h = info.height;
  if (options.fit == TransformOptions::Fit::kCrop) {
    to.ratio = std::min(w, h) / size;
    to.window_x = (w - to.ratio * size) / 2;
    to.window_y = (h - to.ratio * size) / 2;
  } else {
    to.ratio = std::max(w, h) / size;
    to.width = std::clamp(static_cast<int>(std::lround(w / to.ratio)), 1, size);
    to.height = std::clamp(static_cast<int>(std::lround(h / to.ratio)), 1, size);
    to.x = (size - to.width) / 2;
    to.y = (size - to.height) / 2;
  }
  return to;
}

/// One axis of enlarging: pixel centres, 8-bit fractions, edges repeated.
struct Between {
  int first, second;
  int weight;  ///< of the second, in 256ths
};

Between between(double window, double ratio, int j, int length) {
  const double at = window + (j + 0.5) * ratio - 0.5;
  const int first = static_cast<int>(std::floor(at));
  return {std::clamp(first, 0, length - 1), std::clamp(first + 1, 0, length - 1),
          static_cast<int>(std::lround((at - first) * 256))};
}

/// Enlarges by bilinear interpolation. Used only for pictures smaller than the square, so a whole
/// picture may be in memory; the long side of a narrow one may be larger, but its rows outside the
/// window are not kept.
void enlarge(ColourRows& source, const Placement& to, Plane& out, std::uint8_t* first_pixel) {
  const auto channels = static_cast<std::size_t>(source.channels);
  const std::size_t row_bytes = static_cast<std::size_t>(source.width) * channels;
  const int top = between(to.window_y, to.ratio, 0, source.height).first;
  const int bottom = between(to.window_y, to.ratio, to.height - 1, source.height).second;
  std::vector<Between> columns;
  for (int x = 0; x < to.width; ++x) {
    columns.push_back(between(to.window_x, to.ratio, x, source.width));
  }
  std::vector<std::uint8_t> rows;
  for (int y = 0; y < source.height; ++y) {
    const std::uint8_t* row = source.next_row();
    if (y >= top && y <= bottom) rows.insert(rows.end(), row, row + row_bytes);
  }
  for (int y = 0; y < to.height; ++y) {
    const Between v = between(to.window_y, to.ratio, y, source.height);
    const std::uint8_t* upper = rows.data() + static_cast<std::size_t>(v.first - top) * row_bytes;
    const std::uint8_t* lower = rows.data() + static_cast<std::size_t>(v.second - top) * row_bytes;
    std::uint8_t* pixel = first_pixel + static_cast<std::size_t>(y) * out.stride;
    for (const Between& h : columns) {
      const std::size_t left = static_cast<std::size_t>(h.first) * channels;
      const std::size_t right = static_cast<std::size_t>(h.second) * channels;
      for (std::size_t c = 0; c < channels; ++c) {
        const int above = upper[left + c] * (256 - h.weight) + upper[right + c] * h.weight;
        const int below = lower[left + c] * (256 - h.weight) + lower[right + c] * h.weight;
        const int sum = above * (256 - v.weight) + below * v.weight;
        *pixel++ = static_cast<std::uint8_t>((sum + (1 << 15)) >> 16);
      }
    }
  }
}

/// Pixels of the file for each pixel of the square.
struct Ratios {
  double x, y;
};

Ratios ratios(const ImageInfo& info, const Placement& to) {
  // A letterboxed side is a whole number of pixels, so the ratios of the axes may differ a little.
  const bool whole = to.window_x == 0 && to.window_y == 0;
  if (!whole || to.ratio < 1) return {to.ratio, to.ratio};
  return {static_cast<double>(info.width) / to.width, static_cast<double>(info.height) / to.height};
}

PixelMap map_to(const Placement& to, const ImageInfo& info, std::uint32_t size) {
  const Ratios ratio = ratios(info, to);
  return {.scale_x = 1 / ratio.x,
          .scale_y = 1 / ratio.y,
          .move_x = to.x - to.window_x / ratio.x,
          .move_y = to.y - to.window_y / ratio.y,
          .turn = info.turn(),
          .width = size,
          .height = size};
}

void shrink(ColourRows& source, const ImageInfo& info, const Placement& to, Plane& out,
            std::uint8_t* first_pixel) {
  const double s = source.samples_per_pixel;
  const Ratios ratio = ratios(info, to);
  AreaResampler resampler;
  resampler.start({source.width, to.width, to.window_x * s, ratio.x * s},
                  {source.height, to.height, to.window_y * s, ratio.y * s}, source.channels,
                  first_pixel, out.stride);
  // Reads all rows, needed or not, since damage further down must be found.
  for (int y = 0; y < source.height; ++y) resampler.add_row(source.next_row());
}

/// Repeats grey as RGB in place: `pixels` bytes become three times as many.
void repeat_grey(std::vector<std::byte>& bytes, std::size_t pixels) {
  for (std::size_t i = pixels; i-- > 0;) {
    const std::byte grey = bytes[i];
    for (std::size_t c = 0; c < 3; ++c) bytes[3 * i + c] = grey;
  }
}

class Raw final : public Transform {
 public:
  explicit Raw(const TransformOptions& options) : options_(options) {}

  Transformed apply(Bytes input, ImageInfo& info, std::vector<std::byte>& output) const override {
    const auto size = static_cast<std::uint32_t>(options_.size);
    if (info.kind == ImageKind::kRaw) {
      if (info.width == size && info.height == size && info.components == 3) {
        return {input, "kept: already pixels of this size"};
      }
      refuse_pixels(info, "raw");
    }
    const Placement to = place(info, options_);
    const int least_width = static_cast<int>(std::ceil(info.width / to.ratio));
    const int least_height = static_cast<int>(std::ceil(info.height / to.ratio));
    const std::unique_ptr<ColourRows> source =
        open_colours(input, info, {.eighths = decode_eighths(info, least_width, least_height)});
    thread_local Plane square, turned;
    square.reset(options_.size, options_.size, source->channels);
    std::ranges::fill(square.samples, std::uint8_t{0});  // black margins
    std::uint8_t* first_pixel = square.row(to.y) + std::ptrdiff_t{to.x} * source->channels;
    if (to.ratio >= 1) {
      shrink(*source, info, to, square, first_pixel);
    } else {
      enlarge(*source, to, square, first_pixel);
    }
    const Turn turn = info.turn();
    if (turn.any()) turn_upright(square, turn, turned);
    write(turn.any() ? turned : square, output);
    const PixelMap map = map_to(to, info, size);
    info = {.kind = ImageKind::kRaw,
            .components = 3,
            .bit_depth = 8,
            .orientation = 1,
            .width = size,
            .height = size};
    if (!source->note.empty()) return {output, source->note, map};
    return {output, to.ratio < 1 ? "enlarged: smaller than the size asked for" : "", map};
  }

 private:
  static void write(const Plane& square, std::vector<std::byte>& output) {
    const auto side = static_cast<std::size_t>(square.width);
    const std::size_t row_bytes = side * static_cast<std::size_t>(square.channels);
    output.resize(side * side * 3);
    for (int y = 0; y < square.height; ++y) {
      std::memcpy(output.data() + static_cast<std::size_t>(y) * row_bytes, square.row(y),
                  row_bytes);
    }
    if (square.channels == 1) repeat_grey(output, side * side);
  }

  TransformOptions options_;
};

}  // namespace

std::unique_ptr<Transform> make_raw(const TransformOptions& options) {
  return std::make_unique<Raw>(options);
}

}  // namespace packhorse::transforms
