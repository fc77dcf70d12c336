#include "decode/resample.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>

#include "decode/resize_kernels.h"

namespace packhorse::reader {

namespace {

// The two inner loops of resampling, for pixels of any number of bands, each a float. Weights are
// floats, at the places that Tap::weights names; those of one Tap sum up to 1.

/// What has no weight is left out: it may be no number.
void add_weighted(const float* in, float weight, std::size_t count, float* sum) {
  if (weight == 0) return;
  for (std::size_t i = 0; i < count; ++i) sum[i] += weight * in[i];
}

/// As ResizeKernels::rows; the strides are in floats.
void scale_band_rows(const float* in, std::size_t in_stride, int count, std::span<const Tap> taps,
                     const float* weights, std::size_t bands, float* out, std::size_t out_stride) {
  for (int y = 0; y < count; ++y, in += in_stride, out += out_stride) {
    float* pixel = out;
    for (const Tap& tap : taps) {
      std::fill_n(pixel, bands, 0.f);
      const float* from = in + static_cast<std::size_t>(tap.first) * bands;
      for (int i = 0; i < tap.count; ++i, from += bands)
        add_weighted(from, weights[tap.weights + static_cast<std::size_t>(i)], bands, pixel);
      pixel += bands;
    }
  }
}

/// As ResizeKernels::column: `values` of one output row.
void scale_band_column(const float* in, std::size_t stride, const float* weights, int count,
                       float* out, std::size_t values) {
  std::fill_n(out, values, 0.f);
  for (int i = 0; i < count; ++i)
    add_weighted(in + static_cast<std::size_t>(i) * stride, weights[i], values, out);
}

// Rows scaled at a time: as many as the kernels do at once.
constexpr int kBand = 8;
// A window's edge that is off by less is where rounding put it.
constexpr double kEdge = 1e-6;

const std::uint8_t* row_of(const PixelView& view, int y) {
  return view.data + static_cast<std::size_t>(y) * view.stride;
}

/// Rows of `width` pixels of so many bytes become columns.
void transpose(const std::uint8_t* in, std::size_t width, std::size_t height, std::size_t bytes,
               std::uint8_t* out, std::size_t stride) {
  for (std::size_t y = 0; y < width; ++y) {
    std::uint8_t* pixel = out + y * stride;
    for (std::size_t x = 0; x < height; ++x, pixel += bytes)
      copy_pixel(pixel, in + (x * width + y) * bytes, bytes);
  }
}

/// The output positions whose centres lie within [low, high), of those within 0 and `size`.
std::pair<int, int> positions_within(double low, double high, int size) {
  const auto first_from = [&](double edge) {
    return static_cast<int>(std::clamp(std::ceil(edge - .5), 0.0, static_cast<double>(size)));
  };
  return {first_from(low), first_from(high)};
}

/// Keys' cubic filter with a = -1/2, at a distance that is not negative.
double bicubic(double distance) {
  constexpr double kA = -0.5;
  if (distance < 1) return ((kA + 2) * distance - (kA + 3)) * distance * distance + 1;
  if (distance < 2) return (((distance - 5) * distance + 8) * distance - 4) * kA;
  return 0;
}

/// One axis of a placement: upright positions [low, high) go to scale * position + move, of which
/// the output positions [seen, seen + size) are made.
Axis::Spec placed_axis(double low, double high, double scale, double move, int seen, int size) {
  const double a = scale * low + move, b = scale * high + move;
  return {.first = low,
          .length = high - low,
          .scaled = std::abs(b - a),
          .offset = seen - std::min(a, b),
          .size = size,
          .reversed = false,
          .mirrored = scale < 0};
}

}  // namespace

Window to_stored(const Turn& turn, const Window& upright, int width, int height) {
  Window stored = upright;
  if (turn.swap) {
    std::swap(stored.x, stored.y);
    std::swap(stored.w, stored.h);
  }
  if (turn.flip_x) stored.x = width - stored.x - stored.w;
  if (turn.flip_y) stored.y = height - stored.y - stored.h;
  return stored;
}

void Axis::build(const Spec& spec, bool exact) {
  taps_.clear();
  weights_.clear();
  exact_weights_.clear();
  exact_ = exact;
  bicubic_ = spec.bicubic;
  // Positions are counted in shrunk pixels, from the first one on.
  const int origin = static_cast<int>(spec.first / spec.shrunk);
  const double low = spec.first / spec.shrunk - origin;
  const double length = spec.length / spec.shrunk;
  const double scale = length / spec.scaled;
  for (int i = 0; i < spec.size; ++i) {
    const double place = spec.offset + (spec.reversed ? spec.size - 1 - i : i);
    if (place + 0.5 < 0 || place + 0.5 >= spec.scaled) {
      taps_.emplace_back();
      continue;
    }
    const double stored = spec.mirrored ? spec.scaled - 1 - place : place;
    add_tap(low + (stored + 0.5) * scale, std::max(scale, 1.0), low, low + length);
  }
  begin_ = std::numeric_limits<int>::max();
  end_ = 0;
  for (const Tap& tap : taps_) {
    if (tap.count == 0) continue;
    begin_ = std::min(begin_, tap.first);
    end_ = std::max(end_, tap.first + tap.count);
  }
  begin_ = std::min(begin_, end_);
  for (Tap& tap : taps_) tap.first -= tap.count == 0 ? 0 : begin_;
  begin_ += origin;
  end_ += origin;
  runs_back_ = spec.reversed != spec.mirrored;
}

int Axis::longest() const {
  int longest = 0;
  for (const Tap& tap : taps_) longest = std::max(longest, tap.count);
  return longest;
}

/// Pillow's precompute_coeffs(). A position that lies only partly in the range counts for that
/// part.
void Axis::add_tap(double centre, double scale, double low, double high) {
  const double support = bicubic_ ? 2 * scale : scale;
  Tap tap;
  tap.first = std::max(0, static_cast<int>(centre - support + 0.5));
  tap.count = std::min(static_cast<int>(std::ceil(high - kEdge)),
                       static_cast<int>(centre + support + 0.5)) -
              tap.first;
  tap.weights = weights_.size();
  const auto count = static_cast<std::size_t>(tap.count);
  shares_.resize(count);
  const double nearer = 1 / scale;
  for (std::size_t i = 0; i < count; ++i) {
    const double distance = std::abs(tap.first + static_cast<double>(i) - centre + 0.5) * nearer;
    shares_[i] = bicubic_ ? bicubic(distance) : std::max(0.0, 1 - distance);
  }
  if (tap.first < low) shares_.front() *= tap.first + 1 - low;
  if (tap.first + tap.count > high) shares_.back() *= high - (tap.first + tap.count - 1);
  double total = 0;
  for (const double share : shares_) total += share;
  // Rounding the running sum rather than each weight keeps the total exactly 1: grey stays grey.
  const double unit = (1 << kWeightBits) / total;
  double sum = 0;
  int before = 0;
  for (const double share : shares_) {
    sum += share;
    const double place = sum * unit + 0.5;  // below 0 only where the bicubic filter is
    const int rounded = static_cast<int>(bicubic_ ? std::floor(place) : place);
    weights_.push_back(static_cast<std::int16_t>(rounded - before));
    before = rounded;
  }
  weights_.push_back(0);
  if (exact_) {
    for (const double share : shares_) exact_weights_.push_back(static_cast<float>(share / total));
    exact_weights_.push_back(0);
  }
  taps_.push_back(tap);
}

Window Resampler::prepare(const CropPlan& plan, Turn turn, ImageSize size, int width, int height,
                          int shrunk) {
  const Window stored = to_stored(turn, {plan.x, plan.y, plan.w, plan.h}, width, height);
  Axis::Spec x{.scaled = static_cast<double>(plan.scaled_w),
               .offset = static_cast<double>(plan.left),
               .size = size.width,
               .reversed = plan.flip,
               .bicubic = plan.bicubic};
  Axis::Spec y{.scaled = static_cast<double>(plan.scaled_h),
               .offset = static_cast<double>(plan.top),
               .size = size.height,
               .bicubic = plan.bicubic};
  if (turn.swap) std::swap(x, y);
  x.first = stored.x;
  y.first = stored.y;
  x.length = stored.w;
  y.length = stored.h;
  x.shrunk = y.shrunk = shrunk;
  x.mirrored = turn.flip_x;
  y.mirrored = turn.flip_y;
  return prepare(x, y, turn);
}

Window Resampler::prepare(const Placement& placement, Turn turn, const Window& seen, int width,
                          int height) {
  const Rect& shown = placement.shown;
  const Matrix matrix = placement.matrix();
  Axis::Spec x = placed_axis(shown.left, shown.right, matrix.m[0], matrix.m[2], seen.x, seen.w);
  Axis::Spec y = placed_axis(shown.top, shown.bottom, matrix.m[4], matrix.m[5], seen.y, seen.h);
  if (turn.swap) std::swap(x, y);
  // A mirrored source is counted from its other end.
  if (turn.flip_x) x.first = std::max(0.0, width - x.first - x.length);
  if (turn.flip_y) y.first = std::max(0.0, height - y.first - y.length);
  x.mirrored = x.mirrored != turn.flip_x;
  y.mirrored = y.mirrored != turn.flip_y;
  return prepare(x, y, turn);
}

Window Resampler::prepare(const Axis::Spec& x, const Axis::Spec& y, Turn turn) {
  columns_.build(x, !shape_.is_rgb());
  rows_.build(y, !shape_.is_rgb());
  swap_ = turn.swap;
  bicubic_ = x.bicubic;
  return {columns_.begin(), rows_.begin(), columns_.end() - columns_.begin(),
          rows_.end() - rows_.begin()};
}

/// Bytes from one row to the next: the kernels write a byte beyond each row, and vectors prefer
/// aligned rows.
std::size_t Resampler::narrowed_stride() const {
  return (columns_.taps().size() * shape_.bytes() + 1 + 63) / 64 * 64;
}

void Resampler::write_to(std::uint8_t* out, std::size_t stride) {
  const std::size_t width = columns_.taps().size(), height = rows_.taps().size();
  out_ = out;
  out_stride_ = stride;
  target_stride_ = swap_ ? width * shape_.bytes() : stride;
  target_ = swap_ ? scaled_.reserve(target_stride_ * height) : out;
  // There is room for more rows than needed, so that the rows in use are seldom moved to the front.
  room_ = std::min(kBand + 3 * rows_.longest(), rows_.end() - rows_.begin());
  narrowed_.reserve(narrowed_stride() * static_cast<std::size_t>(room_));
  start();
}

void Resampler::start() {
  from_ = taken_ = 0;
  done_ = 0;
  write_rows();  // the rows that are only padding
}

void Resampler::take(const PixelView& rows) {
  for (int y = 0; y < rows.height; y += kBand) {
    const int count = std::min(kBand, rows.height - y);
    make_room(count);
    scale_rows(rows, y, count,
               narrowed_.data() + static_cast<std::size_t>(taken_ - from_) * narrowed_stride());
    taken_ += count;
    write_rows();
  }
}

void Resampler::scale_rows(const PixelView& rows, int y, int count, std::uint8_t* out) const {
  const std::uint8_t* in = row_of(rows, y);
  if (shape_.is_rgb())
    return (bicubic_ ? kernels_.clamped_rows : kernels_.rows)(
        in, rows.stride, count, columns_.taps(), columns_.weights(), out, narrowed_stride());
  scale_band_rows(reinterpret_cast<const float*>(in), rows.stride / sizeof(float), count,
                  columns_.taps(), columns_.exact_weights(), shape_.bands,
                  reinterpret_cast<float*>(out), narrowed_stride() / sizeof(float));
}

/// The output row of a tap, of whose rows `first` is the first.
void Resampler::scale_column(const std::uint8_t* first, const Tap& tap, std::uint8_t* out) const {
  const std::size_t width = columns_.taps().size();
  if (shape_.is_rgb())
    return (bicubic_ ? kernels_.clamped_column : kernels_.column)(
        first, narrowed_stride(), rows_.weights() + tap.weights, tap.count, out, width * kChannels);
  scale_band_column(reinterpret_cast<const float*>(first), narrowed_stride() / sizeof(float),
                    rows_.exact_weights() + tap.weights, tap.count, reinterpret_cast<float*>(out),
                    width * shape_.bands);
}

/// The number of the output row that is made after `before` others.
std::size_t Resampler::row_made(std::size_t before) const {
  return rows_.runs_back() ? rows_.taps().size() - 1 - before : before;
}

/// Moves the rows that are still needed to the front where there is no room for `rows` more.
void Resampler::make_room(int rows) {
  if (taken_ - from_ + rows <= room_) return;
  const int first = std::min(rows_.taps()[row_made(done_)].first, taken_);
  const std::size_t stride = narrowed_stride();
  std::uint8_t* front = narrowed_.data();
  std::memmove(front, front + static_cast<std::size_t>(first - from_) * stride,
               static_cast<std::size_t>(taken_ - first) * stride);
  from_ = first;
}

/// Writes the output rows whose source rows are all there.
void Resampler::write_rows() {
  const std::size_t width = columns_.taps().size(), height = rows_.taps().size();
  const std::size_t narrow = narrowed_stride();
  for (; done_ < height; ++done_) {
    const std::size_t y = row_made(done_);
    const Tap& tap = rows_.taps()[y];
    if (tap.first + tap.count > taken_) return;
    const std::uint8_t* first =
        narrowed_.data() +
        static_cast<std::size_t>(tap.count == 0 ? 0 : tap.first - from_) * narrow;
    scale_column(first, tap, target_ + y * target_stride_);
  }
  if (swap_) transpose(target_, width, height, shape_.bytes(), out_, out_stride_);
}

Window seen_window(const Placement& placement, ImageSize output) {
  const Rect canvas = around(placement.matrix(), placement.shown);
  if (placement.warp.keeps_axes()) {
    const auto [left, right] = positions_within(canvas.left, canvas.right, output.width);
    const auto [top, bottom] = positions_within(canvas.top, canvas.bottom, output.height);
    return {left, top, right - left, bottom - top};
  }
  // Pixels that it covers in part are mixed with what was there.
  const auto [left, right] = positions_within(canvas.left - 1, canvas.right + 1, output.width);
  const auto [top, bottom] = positions_within(canvas.top - 1, canvas.bottom + 1, output.height);
  return {left, top, right - left, bottom - top};
}

void UprightWriter::take(const PixelView& rows) {
  for (int y = 0; y < rows.height; ++y) put_row(row_of(rows, y), taken_++);
}

void UprightWriter::put_row(const std::uint8_t* row, int y) {
  const int across = turn_.flip_y ? height_ - 1 - y : y;
  // Byte steps from one pixel of the row to the next, and from row to row.
  const auto row_bytes = [&](int pixels) { return static_cast<std::size_t>(pixels) * pixel_; };
  const std::size_t step = turn_.swap ? row_bytes(height_) : pixel_;
  const std::size_t stride = turn_.swap ? pixel_ : row_bytes(width_);
  std::uint8_t* out = out_ + static_cast<std::size_t>(across) * stride;
  if (!turn_.swap && !turn_.flip_x) {
    std::memcpy(out, row, stride);
    return;
  }
  for (int x = 0; x < width_; ++x, row += pixel_) {
    const int along = turn_.flip_x ? width_ - 1 - x : x;
    copy_pixel(out + static_cast<std::size_t>(along) * step, row, pixel_);
  }
}

}  // namespace packhorse::reader
