#include "resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace packhorse::reader {

namespace {

std::size_t row_bytes(int pixels) { return static_cast<std::size_t>(pixels) * kChannels; }

const std::uint8_t* row_of(const PixelView& view, int y) {
  return view.data + static_cast<std::size_t>(y) * view.stride;
}

void transpose(const std::uint8_t* in, int size, std::uint8_t* out) {
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x, out += kChannels)
      std::memcpy(out, in + row_bytes(x * size + y), kChannels);
  }
}

}  // namespace

Window Turn::to_stored(const Window& upright, int width, int height) const {
  Window stored = upright;
  if (swap) {
    std::swap(stored.x, stored.y);
    std::swap(stored.w, stored.h);
  }
  if (mirror_x) stored.x = width - stored.x - stored.w;
  if (mirror_y) stored.y = height - stored.y - stored.h;
  return stored;
}

void Axis::build(const Spec& spec) {
  taps_.clear();
  weights_.clear();
  // In shrunk positions, and counted from the first of them.
  const int origin = spec.first / spec.shrunk;
  const double low = static_cast<double>(spec.first) / spec.shrunk - origin;
  const double length = static_cast<double>(spec.length) / spec.shrunk;
  const double scale = length / spec.scaled;
  for (int i = 0; i < spec.size; ++i) {
    const int place = spec.offset + (spec.reversed ? spec.size - 1 - i : i);
    if (place < 0 || place >= spec.scaled) {
      taps_.emplace_back();
      continue;
    }
    const int stored = spec.mirrored ? spec.scaled - 1 - place : place;
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
}

/// Pillow's precompute_coeffs() with the triangle filter; a position that lies in the range only in
/// part counts for that part.
void Axis::add_tap(double centre, double support, double low, double high) {
  Tap tap;
  tap.first = std::max(0, static_cast<int>(centre - support + 0.5));
  tap.count =
      std::min(static_cast<int>(std::ceil(high)), static_cast<int>(centre + support + 0.5)) -
      tap.first;
  tap.weights = weights_.size();
  const auto count = static_cast<std::size_t>(tap.count);
  shares_.resize(count);
  const double nearer = 1 / support;
  for (std::size_t i = 0; i < count; ++i) {
    const double distance = std::abs(tap.first + static_cast<double>(i) - centre + 0.5);
    shares_[i] = std::max(0.0, 1 - distance * nearer);
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
    const int rounded = static_cast<int>(sum * unit + 0.5);
    weights_.push_back(static_cast<std::int16_t>(rounded - before));
    before = rounded;
  }
  weights_.push_back(0);
  taps_.push_back(tap);
}

Window Resampler::prepare(const CropPlan& plan, Turn turn, int size, int width, int height,
                          int shrunk) {
  const Window stored = turn.to_stored({plan.x, plan.y, plan.w, plan.h}, width, height);
  Axis::Spec x{.scaled = plan.scaled_w, .offset = plan.left, .size = size, .reversed = plan.flip};
  Axis::Spec y{.scaled = plan.scaled_h, .offset = plan.top, .size = size};
  if (turn.swap) std::swap(x, y);
  x.first = stored.x;
  y.first = stored.y;
  x.length = stored.w;
  y.length = stored.h;
  x.shrunk = y.shrunk = shrunk;
  x.mirrored = turn.mirror_x;
  y.mirrored = turn.mirror_y;
  columns_.build(x);
  rows_.build(y);
  swap_ = turn.swap;
  return {columns_.begin(), rows_.begin(), columns_.end() - columns_.begin(),
          rows_.end() - rows_.begin()};
}

void Resampler::run(const PixelView& view, std::uint8_t* out) {
  const int size = static_cast<int>(rows_.taps().size());
  const std::size_t stride = row_bytes(size);
  const std::size_t narrow = stride + 1;  // the kernels write a byte beyond each row
  std::uint8_t* narrowed = narrowed_.reserve(narrow * static_cast<std::size_t>(view.height));
  kernels_.rows(view.data, view.stride, view.height, columns_.taps(), columns_.weights(), narrowed,
                narrow);
  std::uint8_t* scaled = swap_ ? scaled_.reserve(stride * static_cast<std::size_t>(size)) : out;
  for (int y = 0; y < size; ++y) {
    const Tap& tap = rows_.taps()[static_cast<std::size_t>(y)];
    kernels_.column(narrowed + static_cast<std::size_t>(tap.first) * narrow, narrow,
                    rows_.weights() + tap.weights, tap.count,
                    scaled + static_cast<std::size_t>(y) * stride, stride);
  }
  if (swap_) transpose(scaled, size, out);
}

void turn_upright(const PixelView& stored, Turn turn, std::uint8_t* out) {
  const int width = turn.swap ? stored.height : stored.width;
  const int height = turn.swap ? stored.width : stored.height;
  for (int y = 0; y < height; ++y) {
    if (!turn.swap && !turn.mirror_x) {
      std::memcpy(out, row_of(stored, turn.mirror_y ? height - 1 - y : y), row_bytes(width));
      out += row_bytes(width);
      continue;
    }
    for (int x = 0; x < width; ++x, out += kChannels) {
      const Window from = turn.to_stored({x, y, 1, 1}, stored.width, stored.height);
      std::memcpy(out, row_of(stored, from.y) + row_bytes(from.x), kChannels);
    }
  }
}

}  // namespace packhorse::reader
