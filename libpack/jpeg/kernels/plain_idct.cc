#include <algorithm>

#include "jpeg/kernels/kernels.h"

namespace packhorse::jpeg {

namespace {

// Source: libjpeg-turbo's jidctint-avx2.asm, whose 16-bit sums wrap and whose results saturate; the
// algorithm is that of C. Loeffler, A. Ligtenberg and G. Moschytz (ICASSP 1989), with 13 fractional
// bits.
std::int16_t wrapped(std::int32_t value) { return static_cast<std::int16_t>(value); }
std::int16_t saturated(std::int32_t value) {
  return static_cast<std::int16_t>(std::clamp(value, -32768, 32767));
}

/// Sums of products of 16 bits, modulo 2^32.
std::uint32_t dot(std::int16_t a, int fa, std::int16_t b, int fb) {
  return static_cast<std::uint32_t>(a * fa) + static_cast<std::uint32_t>(b * fb);
}

/// One direction: 8 numbers, `step` apart.
template <int kShift>
void pass(std::int16_t* x, std::size_t step) {
  const auto in = [&](std::size_t i) { return x[i * step]; };
  const auto shifted = [](std::int16_t v) { return static_cast<std::uint32_t>(v * (1 << 13)); };
  const std::uint32_t t0 = shifted(wrapped(in(0) + in(4))), t1 = shifted(wrapped(in(0) - in(4)));
  const std::uint32_t t2 = dot(in(2), 4433, in(6), -10704), t3 = dot(in(2), 10703, in(6), 4433);
  const std::uint32_t even[4] = {t0 + t3, t1 + t2, t1 - t2, t0 - t3};
  const std::int16_t z3 = wrapped(in(7) + in(3)), z4 = wrapped(in(5) + in(1));
  const std::uint32_t y3 = dot(z3, -6436, z4, 9633), y4 = dot(z3, 9633, z4, 6437);
  const std::uint32_t odd[4] = {
      dot(in(7), -7373, in(1), 4926) + y4, dot(in(5), -20995, in(3), 4177) + y3,
      dot(in(5), -4176, in(3), -20995) + y4, dot(in(7), -4927, in(1), -7373) + y3};
  const auto rounded = [](std::uint32_t v) {
    return saturated(static_cast<std::int32_t>(v + (1u << (kShift - 1))) >> kShift);
  };
  for (std::size_t i = 0; i < 4; ++i) {
    x[i * step] = rounded(even[i] + odd[i]);
    x[(7 - i) * step] = rounded(even[i] - odd[i]);
  }
}

}  // namespace

void plain_idct(const std::int16_t* block, const Quantisation& quantisation, std::uint8_t* out,
                std::size_t stride) {
  std::int16_t x[kBlock];
  bool flat = true;  // nothing below the first row
  for (std::size_t i = 0; i < kBlock; ++i) {
    x[i] = wrapped(block[i] * quantisation[i]);
    if (i >= 8 && block[i] != 0) flat = false;
  }
  if (flat) {  // then the library only shifts, without saturation
    for (std::size_t i = kBlock; i-- > 0;) x[i] = wrapped(x[i % 8] * 4);
  } else {
    for (std::size_t column = 0; column < 8; ++column) pass<11>(x + column, 8);
  }
  for (std::size_t row = 0; row < 8; ++row, out += stride) {
    pass<18>(x + 8 * row, 1);
    for (std::size_t i = 0; i < 8; ++i) {
      out[i] = static_cast<std::uint8_t>(std::clamp<int>(x[8 * row + i], -128, 127) + 128);
    }
  }
}

}  // namespace packhorse::jpeg
