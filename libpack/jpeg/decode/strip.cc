#include "jpeg/decode/strip.h"

#include <algorithm>
#include <cstring>

#include "jpeg/decode/rows.h"
#include "jpeg/kernels/kernels.h"

namespace packhorse::jpeg {

namespace {

// Slack before and after each row, and around all of them.
constexpr std::size_t kMargin = kKernelSlack;

/// libjpeg does not interpolate narrower pictures, nor those scaled to one eighth.
bool interpolates(const Frame& frame) {
  return frame.scale < 8 && (frame.up_h == 1 || frame.chroma_width() > 2);
}

}  // namespace

McuRange needed_mcus(const Frame& frame, const Window& window) {
  // Covers one direction, in which a sample stands for `step` pixels.
  const std::uint32_t side =
      frame.components == 1 ? frame.component[0].side : frame.component[1].side;
  const auto range = [&](std::uint32_t from, std::uint32_t length, std::uint32_t step,
                         std::uint32_t mcus, std::uint32_t& first, std::uint32_t& end) {
    const std::uint32_t margin = step - 1;
    const std::uint32_t begin = from / step, last = (from + length - 1) / step + margin;
    first = (begin > margin ? begin - margin : 0) / side;
    end = std::min(mcus, last / side + 1);
  };
  McuRange mcus;
  range(window.x, window.width, frame.up_h, frame.mcus_per_row, mcus.left, mcus.right);
  range(window.y, window.height, frame.up_v, frame.mcu_rows, mcus.top, mcus.bottom);
  return mcus;
}

std::uint32_t Strip::columns(const Component& component) const {
  return (range_.right - range_.left) * component.h * component.side;
}

void Strip::begin(const Frame& frame, const McuRange& range, std::uint32_t rows,
                  const Kernels& kernels) {
  frame_ = &frame;
  kernels_ = &kernels;
  range_ = range;
  held_ = rows;
  top_ = range.top;
  for (std::size_t i = 0; i < frame.components; ++i) {
    const Component& component = frame.component[i];
    Plane& plane = planes_[i];
    plane.rows = component.side * component.v;
    plane.stride = kMargin + (std::size_t{columns(component)} + 63) / 64 * 64;
    const std::size_t lines = 1 + std::size_t{plane.rows} * rows;
    plane.top = plane.memory.reserve(plane.stride * lines + 2 * kMargin) + kMargin + plane.stride;
    upsampled_[i].reserve(std::size_t{columns(component)} * 2 + 4 * kMargin);
  }
}

void Strip::move_to(std::uint32_t top) {
  if (top != top_ && frame_->up_v == 2) {  // else nothing looks above
    for (std::size_t i = 0; i < frame_->components; ++i) {
      Plane& plane = planes_[i];
      const std::size_t last = plane.stride * plane.rows * (top - top_) - plane.stride;
      std::memcpy(plane.top - plane.stride - 1, plane.top + last - 1,
                  std::size_t{columns(frame_->component[i])} + 2);
    }
  }
  top_ = top;
}

/// Repeats the last chroma sample beyond the picture's left and right edges.
void Strip::repeat_edges(std::uint8_t* row) const {
  if (range_.left == 0) row[-1] = row[0];
  if (range_.right == frame_->mcus_per_row) {
    const std::uint32_t end = frame_->chroma_width() - range_.left * frame_->component[1].side;
    row[end] = row[end - 1];
  }
}

void Strip::transform(std::uint32_t mcu_row, const std::int16_t* blocks, const std::uint8_t* last) {
  std::size_t first = 0;  // block of the component in an MCU
  for (std::size_t i = 0; i < frame_->components; ++i) {
    const Component& component = frame_->component[i];
    Plane& plane = planes_[i];
    std::uint8_t* const top = plane.top + plane.stride * plane.rows * (mcu_row - top_);
    std::uint8_t* out = top;
    const Quantisation& steps = frame_->quantisation[component.quantisation];
    for (std::uint32_t v = 0; v < component.v; ++v, first += component.h) {
      const BlockRow row{blocks + first * kBlock, last + first, columns(component) / component.side,
                         component.h, frame_->blocks_per_mcu};
      if (component.side == 8) {
        kernels_->idct(row, steps, out, plane.stride);
      } else if (component.side == 4) {
        kernels_->idct_4x4(row, steps, out, plane.stride);
      } else {
        reduced_idct(row, component.side, steps, out, plane.stride);
      }
      out += plane.stride * component.side;
    }
    if (i == 0 || frame_->up_h == 1) continue;
    for (std::uint32_t y = 0; y < plane.rows; ++y) repeat_edges(top + plane.stride * y);
  }
}

const std::uint8_t* Strip::sample_row(std::size_t plane, std::uint32_t y) const {
  const Plane& p = planes_[plane];
  const auto line =
      static_cast<std::ptrdiff_t>(y) - static_cast<std::ptrdiff_t>(std::size_t{top_} * p.rows);
  return p.top + line * static_cast<std::ptrdiff_t>(p.stride);
}

/// Chroma for `count` pixels of row `y` from `first` on, which is even where h is 2.
const std::uint8_t* Strip::chroma_row(std::size_t plane, std::uint32_t y, std::uint32_t first,
                                      std::size_t count) {
  const std::uint32_t h = frame_->up_h, v = frame_->up_v;
  const std::size_t column = first / h - std::size_t{range_.left} * frame_->component[1].side;
  const std::uint8_t* near = sample_row(plane, y / v) + column;
  if (h == 1 && v == 1) return near;
  std::uint8_t* out = upsampled_[plane].data();
  const std::size_t samples = (count + h - 1) / h;
  if (!interpolates(*frame_)) {
    for (std::size_t i = 0; i < count; ++i) out[i] = near[i / h];
    return out;
  }
  if (v == 1) {
    kernels_->upsample_h2v1(near, samples, out);
    return out;
  }
  const bool above = y % 2 == 0;
  const std::uint32_t rows = frame_->chroma_height(), other = above ? y / 2 : y / 2 + 2;
  const std::uint32_t far_y = std::clamp(other, 1u, rows) - 1;
  const std::uint8_t* far = sample_row(plane, far_y) + column;
  if (h == 1) {
    kernels_->upsample_h1v2(near, far, above ? 1 : 2, samples, out);
  } else {
    kernels_->upsample_h2v2(near, far, samples, out);
  }
  return out;
}

void Strip::write_row(std::uint32_t y, std::uint32_t x, std::uint32_t width, std::uint8_t* out) {
  const std::uint8_t* luma =
      sample_row(0, y) + (x - std::size_t{range_.left} * frame_->mcu_width());
  if (frame_->components == 1) return kernels_->grey_to_rgb(luma, width, out);
  const std::uint32_t odd = x % frame_->up_h;
  const std::uint8_t* cb = chroma_row(1, y, x - odd, std::size_t{width} + odd) + odd;
  const std::uint8_t* cr = chroma_row(2, y, x - odd, std::size_t{width} + odd) + odd;
  kernels_->ycc_to_rgb(luma, cb, cr, width, out);
}

std::size_t Strip::kept_bytes() const {
  std::size_t bytes = 0;
  for (const Plane& plane : planes_) bytes += plane.memory.bytes();
  for (const Buffer<std::uint8_t>& row : upsampled_) bytes += row.bytes();
  return bytes;
}

RowWriter::RowWriter(RowSink& sink, const Window& window, Buffer<std::uint8_t>& memory)
    : sink_(&sink), stride_(std::size_t{3} * window.width), left_(window.height) {
  band_ = next_ = memory.reserve(stride_ * kBand + RowSink::kSlack);
}

void RowWriter::hand_over() {
  sink_->take(band_, stride_, held_);
  next_ = band_;
  left_ -= held_;
  held_ = 0;
}

}  // namespace packhorse::jpeg
