#include "jpeg/encode/forward_dct.h"

#include <cmath>
#include <cstring>

namespace packhorse::encode {

namespace {

constexpr QuantTable kLuma = {16,  11,  10,  16,  24, 40, 51,  61,  12,  12,  14,  19,  26,
                              58,  60,  55,  14,  13, 16, 24,  40,  57,  69,  56,  14,  17,
                              22,  29,  51,  87,  80, 62, 18,  22,  37,  56,  68,  109, 103,
                              77,  24,  35,  55,  64, 81, 104, 113, 92,  49,  64,  78,  87,
                              103, 121, 120, 101, 72, 92, 95,  98,  112, 100, 103, 99};

constexpr QuantTable kChroma = {17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,
                                24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,
                                99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
                                99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99};

QuantTable scaled(const QuantTable& table, int quality) {
  const int percent = quality < 50 ? 5000 / quality : 200 - 2 * quality;
  QuantTable result{};
  for (std::size_t i = 0; i < kBlock; ++i) {
    result[i] = static_cast<std::uint16_t>(std::clamp((table[i] * percent + 50) / 100, 1, 255));
  }
  return result;
}

/// Eight numbers at once; compilers use whatever vectors the machine has.
using Vector [[gnu::vector_size(32)]] = float;
using Integers [[gnu::vector_size(32)]] = std::int32_t;
using Shorts [[gnu::vector_size(16)]] = std::int16_t;
using Bytes8 [[gnu::vector_size(8)]] = std::uint8_t;

/// One-dimensional DCT of v[0] .. v[7] in all eight lanes; outputs are scaled as in jfdctflt.c.
[[gnu::always_inline]] inline void transform_lanes(Vector (&v)[8]) {
  const Vector s07 = v[0] + v[7], d07 = v[0] - v[7], s16 = v[1] + v[6], d16 = v[1] - v[6];
  const Vector s25 = v[2] + v[5], d25 = v[2] - v[5], s34 = v[3] + v[4], d34 = v[3] - v[4];

  const Vector even0 = s07 + s34, even3 = s07 - s34, even1 = s16 + s25, even2 = s16 - s25;
  v[0] = even0 + even1;
  v[4] = even0 - even1;
  const Vector z1 = (even2 + even3) * 0.707106781f;
  v[2] = even3 + z1;
  v[6] = even3 - z1;

  const Vector odd0 = d34 + d25, odd1 = d25 + d16, odd2 = d16 + d07;
  const Vector z5 = (odd0 - odd2) * 0.382683433f;
  const Vector z2 = odd0 * 0.541196100f + z5, z4 = odd2 * 1.306562965f + z5;
  const Vector z3 = odd1 * 0.707106781f;
  const Vector z11 = d07 + z3, z13 = d07 - z3;
  v[5] = z13 + z2;
  v[3] = z13 - z2;
  v[1] = z11 + z4;
  v[7] = z11 - z4;
}

[[gnu::always_inline]] inline void transpose(Vector (&v)[8]) {
  Vector a[8];
  for (std::size_t i = 0; i < 4; ++i) {
    a[2 * i] = __builtin_shufflevector(v[i], v[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
    a[2 * i + 1] = __builtin_shufflevector(v[i], v[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
  }
  Vector b[8];
  for (std::size_t i = 0; i < 4; ++i) {
    b[2 * i] = __builtin_shufflevector(a[i], a[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
    b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    v[2 * i] = __builtin_shufflevector(b[i], b[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
    v[2 * i + 1] = __builtin_shufflevector(b[i], b[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
  }
}

/// Transforms one whole block. Inlined into the functions below, which differ in the instructions
/// they may use, not in what they compute.
[[gnu::always_inline]] inline void transform_block(const std::uint8_t* samples, std::size_t stride,
                                                   const float* factors, std::int16_t* out) {
  Vector v[8];
  for (Vector& row : v) {
    Bytes8 bytes;
    std::memcpy(&bytes, samples, sizeof bytes);
    row = __builtin_convertvector(bytes, Vector) - 128.0f;
    samples += stride;
  }
  transform_lanes(v);
  transpose(v);
  transform_lanes(v);
  transpose(v);
  // Adding 1.5 * 2^23 leaves the rounded number in the low bits, the same way everywhere.
  constexpr float kRounder = 12582912.0f;
  constexpr std::int32_t kRounderBits = 0x4b400000;
  for (const Vector& row : v) {
    Vector factor;
    std::memcpy(&factor, factors, sizeof factor);
    const Vector rounded = row * factor + kRounder;
    Integers bits;
    std::memcpy(&bits, &rounded, sizeof bits);
    const Shorts shorts = __builtin_convertvector(bits - kRounderBits, Shorts);
    std::memcpy(out, &shorts, sizeof shorts);
    factors += 8;
    out += 8;
  }
}

using BlockFunction = void (*)(const std::uint8_t*, std::size_t, const float*, std::int16_t*);

void block_plain(const std::uint8_t* samples, std::size_t stride, const float* factors,
                 std::int16_t* out) {
  transform_block(samples, stride, factors, out);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void block_avx2(const std::uint8_t* samples, std::size_t stride,
                                                const float* factors, std::int16_t* out) {
  transform_block(samples, stride, factors, out);
}
const BlockFunction kBlockFunction = __builtin_cpu_supports("avx2") != 0 ? block_avx2 : block_plain;
#else
const BlockFunction kBlockFunction = block_plain;
#endif

}  // namespace

QuantTable luma_table(int quality) { return scaled(kLuma, quality); }
QuantTable chroma_table(int quality) { return scaled(kChroma, quality); }

ForwardDct::ForwardDct(const QuantTable& quant) {
  constexpr double kPi = 3.14159265358979323846;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const auto scale = [](std::size_t k) {
      return k == 0 ? 1.0 : std::cos(static_cast<double>(k) * kPi / 16) * std::sqrt(2.0);
    };
    factors_[i] = static_cast<float>(1 / (quant[i] * scale(i / 8) * scale(i % 8) * 8));
  }
}

void ForwardDct::transform(const std::uint8_t* samples, std::size_t stride, Block& out) const {
  kBlockFunction(samples, stride, factors_.data(), out);
}

}  // namespace packhorse::encode
