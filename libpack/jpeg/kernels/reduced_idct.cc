#include <algorithm>
#include <array>

#include "jpeg/kernels/kernels.h"

namespace packhorse::jpeg {

namespace {

// Source: libjpeg-turbo's jidctred-sse2.asm, whose products wrap at 16 bits, sums at 32, and whose
// results saturate; jidctint.c for 1 x 1. There are 13 fractional bits, and 2 more between the
// passes.
std::int16_t wrapped(std::int32_t value) { return static_cast<std::int16_t>(value); }
std::int16_t saturated(std::int32_t value) {
  return static_cast<std::int16_t>(std::clamp(value, -32768, 32767));
}
std::uint8_t sample_of(std::int32_t value) {
  return static_cast<std::uint8_t>(std::clamp(value, -128, 127) + 128);
}

std::uint32_t product(std::int16_t a, int factor) { return static_cast<std::uint32_t>(a * factor); }
std::uint32_t shifted(std::int32_t a, int bits) { return static_cast<std::uint32_t>(a) << bits; }

template <int kShift>
std::int32_t rounded(std::uint32_t value) {
  return static_cast<std::int32_t>(value + (1u << (kShift - 1))) >> kShift;
}

using Line = std::array<std::int16_t, 8>;  // a column, or a row, of a block
using Four = std::array<std::int16_t, 4>;

Line column_of(const std::int16_t* block, const Quantisation& quantisation, std::size_t column) {
  Line line;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t at = 8 * i + column;
    line[i] = wrapped(block[at] * quantisation[at]);
  }
  return line;
}

/// Four outputs from eight inputs, of which the fifth does not count.
template <int kShift>
Four four_of(const Line& in) {
  const std::uint32_t even0 = shifted(in[0], 14);
  const std::uint32_t even2 = product(in[2], 15137) + product(in[6], -6270);
  const std::uint32_t odd0 =
      product(in[1], 20995) + product(in[3], 7373) + product(in[5], -4926) + product(in[7], -4176);
  const std::uint32_t odd1 =
      product(in[1], 8697) + product(in[3], -17799) + product(in[5], 11893) + product(in[7], -1730);
  const std::uint32_t sums[4] = {even0 + even2 + odd0, even0 - even2 + odd1, even0 - even2 - odd1,
                                 even0 + even2 - odd0};
  Four out;
  for (std::size_t i = 0; i < 4; ++i) out[i] = saturated(rounded<kShift>(sums[i]));
  return out;
}

/// Whether all rows below the first are zero, except the fifth, which does not count.
bool is_flat(const std::int16_t* block) {
  for (std::size_t i = 8; i < kBlock; ++i) {
    if (block[i] != 0 && i / 8 != 4) return false;
  }
  return true;
}

std::uint32_t odd_of(std::int16_t a, std::int16_t b, std::int16_t c, std::int16_t d) {
  return product(a, 29692) + product(b, -10426) + product(c, 6967) + product(d, -5906);
}

void idct_2x2(const std::int16_t* block, const Quantisation& quantisation, std::uint8_t* out,
              std::size_t stride) {
  std::array<std::array<std::int32_t, 8>, 2> rows{};
  for (const std::size_t column : {0u, 1u, 3u, 5u, 7u}) {
    const Line in = column_of(block, quantisation, column);
    const std::uint32_t even = shifted(in[0], 15), odd = odd_of(in[1], in[3], in[5], in[7]);
    rows[0][column] = rounded<13>(even + odd);
    rows[1][column] = rounded<13>(even - odd);
  }
  for (const auto& row : rows) {
    const std::uint32_t even = shifted(row[0], 15);  // the only one that does not saturate
    const std::uint32_t odd =
        odd_of(saturated(row[1]), saturated(row[3]), saturated(row[5]), saturated(row[7]));
    out[0] = sample_of(rounded<20>(even + odd));
    out[1] = sample_of(rounded<20>(even - odd));
    out += stride;
  }
}

void idct_1x1(const std::int16_t* block, const Quantisation& quantisation, std::uint8_t* out) {
  // The library's table wraps at 10 bits for values out of range.
  const std::int32_t value = (block[0] * quantisation[0] + 4) >> 3;
  *out = sample_of(((value + 512) & 1023) - 512);
}

}  // namespace

void plain_idct_4x4(const std::int16_t* block, const Quantisation& quantisation, std::uint8_t* out,
                    std::size_t stride) {
  const bool flat = is_flat(block);
  std::array<Line, 4> rows;
  for (std::size_t column = 0; column < 8; ++column) {
    const Line in = column_of(block, quantisation, column);
    Four made;
    if (flat) {
      made.fill(wrapped(in[0] * 4));  // without saturation
    } else {
      made = four_of<12>(in);
    }
    for (std::size_t row = 0; row < 4; ++row) rows[row][column] = made[row];
  }
  for (const Line& row : rows) {
    const Four made = four_of<19>(row);
    for (std::size_t i = 0; i < 4; ++i) out[i] = sample_of(made[i]);
    out += stride;
  }
}

void reduced_idct(const BlockRow& row, std::uint32_t side, const Quantisation& quantisation,
                  std::uint8_t* out, std::size_t stride) {
  for (std::size_t i = 0; i < row.count; ++i, out += side) {
    const std::size_t at = i / row.side_by_side * row.per_mcu + i % row.side_by_side;
    const std::int16_t* block = row.blocks + at * kBlock;
    if (side == 4) {
      plain_idct_4x4(block, quantisation, out, stride);
    } else if (side == 2) {
      idct_2x2(block, quantisation, out, stride);
    } else {
      idct_1x1(block, quantisation, out);
    }
  }
}

}  // namespace packhorse::jpeg
