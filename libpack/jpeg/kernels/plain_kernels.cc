#include <algorithm>
#include <cstring>

#include "jpeg/kernels/kernels.h"
#include "jpeg/kernels/kernels_by_target.h"

namespace packhorse::jpeg {

namespace {

std::uint8_t u8(int value) { return static_cast<std::uint8_t>(value); }

void idct(const BlockRow& row, const Quantisation& quantisation, std::uint8_t* out,
          std::size_t stride) {
  for (std::size_t i = 0; i < row.count; ++i) {
    const std::size_t at = i / row.side_by_side * row.per_mcu + i % row.side_by_side;
    plain_idct(row.blocks + at * kBlock, quantisation, out + 8 * i, stride);
  }
}

void idct_4x4(const BlockRow& row, const Quantisation& quantisation, std::uint8_t* out,
              std::size_t stride) {
  reduced_idct(row, 4, quantisation, out, stride);
}

// Source of the filters: libjpeg-turbo's jdsample.c.

void upsample_h2v1(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* at = in + i;
    out[2 * i] = u8((3 * at[0] + at[-1] + 1) >> 2);
    out[2 * i + 1] = u8((3 * at[0] + at[1] + 2) >> 2);
  }
}

void upsample_h2v2(const std::uint8_t* near, const std::uint8_t* far, std::size_t count,
                   std::uint8_t* out) {
  const auto sum = [&](std::ptrdiff_t i) { return 3 * near[i] + far[i]; };
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    out[2 * i] = u8((3 * sum(at) + sum(at - 1) + 8) >> 4);
    out[2 * i + 1] = u8((3 * sum(at) + sum(at + 1) + 7) >> 4);
  }
}

void upsample_h1v2(const std::uint8_t* near, const std::uint8_t* far, int bias, std::size_t count,
                   std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = u8((3 * near[i] + far[i] + bias) >> 2);
}

/// value * factor in fixed point with 16 fractional bits, rounded.
int scaled(int value, double factor) {
  return (static_cast<int>(factor * 65536 + 0.5) * value + 32768) >> 16;
}

void ycc_to_rgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                std::size_t count, std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i, out += 3) {
    const int b = cb[i] - 128, r = cr[i] - 128;
    // jdcolor.c rounds the sum of the two green terms.
    const int green = (-22554 * b - 46802 * r + 32768) >> 16;
    out[0] = u8(std::clamp(y[i] + scaled(r, 1.402), 0, 255));
    out[1] = u8(std::clamp(y[i] + green, 0, 255));
    out[2] = u8(std::clamp(y[i] + scaled(b, 1.772), 0, 255));
  }
}

void grey_to_rgb(const std::uint8_t* y, std::size_t count, std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i, out += 3) out[0] = out[1] = out[2] = y[i];
}

Unstuffed unstuff(const std::uint8_t* from, const std::uint8_t* end, std::uint8_t* out) {
  while (from < end) {
    if (*from != 0xff) {
      *out++ = *from++;
    } else if (end - from >= 2 && from[1] == 0) {
      *out++ = 0xff;
      from += 2;
    } else {
      break;
    }
  }
  return {from, out};
}

const std::uint8_t* find_marker(const std::uint8_t* from, const std::uint8_t* end) {
  while (from < end && (*from != 0xff || (end - from >= 2 && from[1] == 0))) {
    from += *from == 0xff ? 2 : 1;
  }
  return from;
}

}  // namespace

const Kernels& plain_kernels() {
  static constexpr Kernels kKernels = {idct,          idct_4x4,      upsample_h2v1,
                                       upsample_h2v2, upsample_h1v2, ycc_to_rgb,
                                       grey_to_rgb,   unstuff,       find_marker};
  return kKernels;
}

Kernels fastest_kernels() {
  const UpsampleKernels upsample = fastest_upsampling();
  const ColourKernels colours = fastest_colours();
  const ByteKernels bytes = fastest_byte_walks();
  return {fastest_idct(), fastest_idct_4x4(), upsample.h2v1, upsample.h2v2,    upsample.h1v2,
          colours.ycc,    colours.grey,       bytes.unstuff, bytes.find_marker};
}

}  // namespace packhorse::jpeg
