#include "augment/operations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "augment/color_steps.h"
#include "augment/filters.h"

namespace packhorse::reader {

namespace {

using Kind = Operation::Kind;

struct KindWords {
  std::string_view name;
  std::size_t values;
};

/// In the order of Operation::Kind.
constexpr std::array<KindWords, 23> kKinds = {{
    {"Identity", 0},     {"Brightness", 1},  {"Contrast", 1},     {"Saturation", 1},
    {"Hue", 1},          {"Channels", 3},    {"Sharpness", 1},    {"Posterize", 1},
    {"Solarize", 1},     {"SolarizeAdd", 1}, {"Autocontrast", 0}, {"Equalize", 0},
    {"Invert", 0},       {"Grayscale", 0},   {"GaussianBlur", 3}, {"HorizontalFlip", 0},
    {"VerticalFlip", 0}, {"ShearX", 1},      {"ShearY", 1},       {"TranslateX", 1},
    {"TranslateY", 1},   {"Rotate", 1},      {"Affine", 6},
}};
static_assert(kKinds.size() == static_cast<std::size_t>(Kind::kAffine) + 1);

/// A level for each level, of each channel.
using Table = std::array<std::uint8_t, 256>;
using Tables = std::array<Table, kChannels>;

void look_up(const Tables& tables, std::span<std::uint8_t> pixels) {
  std::uint8_t* const end = pixels.data() + pixels.size();
  const std::uint8_t *const r = tables[0].data(), *const g = tables[1].data(),
                            *const b = tables[2].data();
  for (std::uint8_t* at = pixels.data(); at != end; at += kChannels) {
    const std::uint8_t red = r[at[0]], green = g[at[1]], blue = b[at[2]];
    at[0] = red, at[1] = green, at[2] = blue;
  }
}

template <class Change>
void change_levels(std::span<std::uint8_t> pixels, const Change& change) {
  for (std::uint8_t& level : pixels) level = change(level);
}

void solarize(std::span<std::uint8_t> pixels, double threshold) {
  const float rounded = static_cast<float>(threshold);  // torchvision compares floats
  if (rounded > 255) return;
  const auto first = static_cast<std::uint8_t>(std::ceil(std::max(rounded, 0.0F)));
  change_levels(pixels, [&](std::uint8_t level) {
    return static_cast<std::uint8_t>(level >= first ? 255 - level : level);
  });
}

void solarize_add(std::span<std::uint8_t> pixels, double levels) {
  const int added = static_cast<int>(levels);
  change_levels(pixels, [&](std::uint8_t level) {
    return static_cast<std::uint8_t>(level < 128 ? std::min(255, level + added) : level);
  });
}

void posterize(std::span<std::uint8_t> pixels, double bits) {
  const auto mask = static_cast<std::uint8_t>(0xff00 >> std::clamp(static_cast<int>(bits), 0, 8));
  change_levels(pixels,
                [&](std::uint8_t level) { return static_cast<std::uint8_t>(level & mask); });
}

/// The smallest and the largest level of each channel.
struct Extremes {
  Colour least = {255, 255, 255}, most = {};

  explicit Extremes(std::span<const std::uint8_t> pixels) {
    // Vectors of bytes whose channels repeat, which compilers make of this form alone.
    constexpr std::size_t kTogether = std::size_t{16} * kChannels;
    std::uint8_t low[kTogether], high[kTogether];
    std::ranges::fill(low, 255), std::ranges::fill(high, 0);
    const std::uint8_t *at = pixels.data(), *const end = at + pixels.size();
    for (; end - at >= std::ssize(low); at += kTogether) {
      for (std::size_t k = 0; k < kTogether; ++k) {
        const std::uint8_t level = at[k];
        low[k] = level < low[k] ? level : low[k];
        high[k] = level > high[k] ? level : high[k];
      }
    }
    for (std::size_t k = 0; k < kTogether; ++k) {
      const std::size_t c = k % kChannels;
      const bool has_more = at + k < end;
      least[c] = std::min({least[c], low[k], has_more ? at[k] : low[k]});
      most[c] = std::max({most[c], high[k], has_more ? at[k] : high[k]});
    }
  }
};

void autocontrast(std::span<std::uint8_t> pixels) {
  const Extremes extremes(pixels);
  Tables tables;
  for (std::size_t c = 0; c < kChannels; ++c) {
    const int least = extremes.least[c], most = extremes.most[c];
    const float scale = most > least ? static_cast<float>(most - least) * (1.0F / 255) : 1;
    for (int level = least; level <= most; ++level) {
      const float made = static_cast<float>(most > least ? level - least : level) / scale;
      tables[c][static_cast<std::size_t>(level)] =
          static_cast<std::uint8_t>(std::min(made, 255.0F));
    }
  }
  look_up(tables, pixels);
}

using Histogram = std::array<std::uint32_t, 256>;

std::array<Histogram, kChannels> histograms_of(std::span<const std::uint8_t> pixels) {
  // Two of each: equal neighbours do not wait for each other's count.
  std::array<std::array<Histogram, kChannels>, 2> counts = {};
  for (std::size_t i = 0; i + 2 < pixels.size(); i += kChannels) {
    for (std::size_t c = 0; c < kChannels; ++c) ++counts[i % 2][c][pixels[i + c]];
  }
  for (std::size_t c = 0; c < kChannels; ++c) {
    for (std::size_t level = 0; level < 256; ++level) counts[0][c][level] += counts[1][c][level];
  }
  return counts[0];
}

/// Pillow's table, which torchvision's equalize() follows.
Table equalizing(const Histogram& counts, std::size_t pixels) {
  Table table;
  for (std::size_t level = 0; level < 256; ++level) table[level] = static_cast<std::uint8_t>(level);
  std::size_t last = 255;
  while (last > 0 && counts[last] == 0) --last;
  const std::size_t step = (pixels - counts[last]) / 255;
  if (step == 0) return table;
  std::size_t before = step / 2;
  for (std::size_t level = 0; level < 256; ++level) {
    table[level] = static_cast<std::uint8_t>(std::min<std::size_t>(before / step, 255));
    before += counts[level];
  }
  return table;
}

void equalize(std::span<std::uint8_t> pixels) {
  const auto histograms = histograms_of(pixels);
  Tables tables;
  for (std::size_t c = 0; c < kChannels; ++c)
    tables[c] = equalizing(histograms[c], pixels.size() / kChannels);
  look_up(tables, pixels);
}

void swap_channels(std::span<std::uint8_t> pixels, const Operation& operation) {
  std::array<std::size_t, kChannels> from;
  for (std::size_t c = 0; c < kChannels; ++c)
    from[c] = static_cast<std::size_t>(operation.values[c]);
  for (std::size_t i = 0; i + 2 < pixels.size(); i += kChannels) {
    const Colour old = {pixels[i], pixels[i + 1], pixels[i + 2]};
    for (std::size_t c = 0; c < kChannels; ++c) pixels[i + c] = old[from[c]];
  }
}

void flip_rows(const Picture& picture) {
  const auto stride = static_cast<std::size_t>(picture.width) * kChannels;
  for (std::size_t begin = 0; begin < picture.pixels.size(); begin += stride) {
    std::uint8_t* left = picture.pixels.data() + begin;
    std::uint8_t* right = left + stride - kChannels;
    for (; left < right; left += kChannels, right -= kChannels)
      std::swap_ranges(left, left + kChannels, right);
  }
}

void flip_columns(const Picture& picture) {
  const auto stride = static_cast<std::ptrdiff_t>(picture.width) * kChannels;
  std::uint8_t* upper = picture.pixels.data();
  std::uint8_t* lower = upper + picture.pixels.size() - stride;
  for (; upper < lower; upper += stride, lower -= stride)
    std::swap_ranges(upper, upper + stride, lower);
}

/// About the centre, then moved.
Matrix affine_matrix(const std::array<double, 6>& values, ImageSize size) {
  const auto& [degrees, right, down, scale, shear_x, shear_y] = values;
  const double x = size.width / 2.0, y = size.height / 2.0;
  return Matrix::translation(x + right, y + down) *
         Matrix::turned(degrees, scale, shear_x, shear_y) * Matrix::translation(-x, -y);
}

/// Takes the output's pixels to the source's.
Matrix inverse_of(const Operation& operation, ImageSize size) {
  const double value = operation.values[0];
  switch (operation.kind) {
    case Kind::kShearX:
      return Matrix::affine(1, value, 0, 0, 1, 0);
    case Kind::kShearY:
      return Matrix::affine(1, 0, 0, value, 1, 0);
    case Kind::kTranslateX:
      return Matrix::translation(-value, 0);
    case Kind::kTranslateY:
      return Matrix::translation(0, -value);
    case Kind::kRotate:
      return affine_matrix({value, 0, 0, 1, 0, 0}, size);
    default:
      return affine_matrix(operation.values, size).inverse();
  }
}

void move(const Picture& picture, const Operation& operation) {
  const Matrix inverse = inverse_of(operation, picture.size());
  if (inverse == Matrix()) return;
  move_picture(picture.copy(), inverse, operation.interpolation, operation.fill,
               picture.pixels.data());
}

/// Colour steps that wait until something else needs the pixels, and then take one pass.
class Colours {
 public:
  explicit Colours(std::span<std::uint8_t> pixels) : pixels_(pixels) {}

  /// Whether `operation` is one of colours.
  bool take(const Operation& operation) {
    const double value = operation.values[0];
    switch (operation.kind) {
      case Kind::kIdentity:
        return true;
      case Kind::kBrightness:
        return add(ColorStep::Kind::kLevels, value, 0, value == 1);
      case Kind::kContrast:
        if (value != 1) flush();  // the mean is that of what they leave
        return add(ColorStep::Kind::kLevels, value, value == 1 ? 0 : (1 - value) * mean(),
                   value == 1);
      case Kind::kSaturation:
        return add(ColorStep::Kind::kSaturation, value, 1 - value, value == 1);
      case Kind::kGrayscale:
        return add(ColorStep::Kind::kSaturation, 0, 1, false);
      case Kind::kHue:
        return add(ColorStep::Kind::kHue, 6 * value, 0, value == 0);
      default:
        return false;
    }
  }

  void flush() {
    if (!waiting_.empty()) kernels().apply(pixels_, waiting_);
    waiting_.clear();
  }

 private:
  static const ColorSteps& kernels() {
    static const ColorSteps kKernels = fastest_color_steps();
    return kKernels;
  }
  double mean() const {
    return static_cast<double>(kernels().grey_sum(pixels_)) /
           static_cast<double>(std::max<std::size_t>(1, pixels_.size() / kChannels));
  }
  bool add(ColorStep::Kind kind, double a, double b, bool changes_nothing) {
    if (!changes_nothing) waiting_.push_back({kind, static_cast<float>(a), static_cast<float>(b)});
    return true;
  }

  std::span<std::uint8_t> pixels_;
  std::vector<ColorStep> waiting_;
};

void perform_one(const Operation& operation, const Picture& picture) {
  const auto& values = operation.values;
  switch (operation.kind) {
    case Kind::kSwapChannels:
      return swap_channels(picture.pixels, operation);
    case Kind::kSharpness:
      return sharpen(picture, values[0]);
    case Kind::kPosterize:
      return posterize(picture.pixels, values[0]);
    case Kind::kSolarize:
      return solarize(picture.pixels, values[0]);
    case Kind::kSolarizeAdd:
      return solarize_add(picture.pixels, values[0]);
    case Kind::kAutocontrast:
      return autocontrast(picture.pixels);
    case Kind::kEqualize:
      return equalize(picture.pixels);
    case Kind::kInvert:
      return solarize(picture.pixels, 0);
    case Kind::kGaussianBlur:
      return gaussian_blur(picture, static_cast<int>(values[0]), static_cast<int>(values[1]),
                           values[2]);
    case Kind::kHorizontalFlip:
      return flip_rows(picture);
    case Kind::kVerticalFlip:
      return flip_columns(picture);
    default:
      return move(picture, operation);
  }
}

}  // namespace

PixelView Picture::copy() const {
  std::uint8_t* const to = scratch.reserve(pixels.size());
  std::memcpy(to, pixels.data(), pixels.size());
  return {to, width, height(), static_cast<std::size_t>(width) * kChannels};
}

std::string Operation::text() const {
  const auto& [name, count] = kKinds[static_cast<std::size_t>(kind)];
  std::string words = fmt::format("{}", fmt::join(values.begin(), values.begin() + count, ", "));
  if (interpolation != WarpInterpolation::kNearest)
    words += fmt::format(", {}", kInterpolations[static_cast<std::size_t>(interpolation)]);
  return fmt::format("{}({})", name, words);
}

std::string text_of(const Operations& operations) {
  std::vector<std::string> texts;
  std::ranges::transform(operations, std::back_inserter(texts), &Operation::text);
  return fmt::format("{}", fmt::join(texts, ", "));
}

void perform(const Operations& operations, const Picture& picture) {
  if (picture.pixels.empty()) return;
  Colours colours(picture.pixels);
  for (const Operation& operation : operations) {
    if (colours.take(operation)) continue;
    colours.flush();
    perform_one(operation, picture);
  }
  colours.flush();
}

}  // namespace packhorse::reader
