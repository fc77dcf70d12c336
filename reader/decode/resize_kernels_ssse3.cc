#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#include "decode/resize_kernels.h"

namespace packhorse::reader {

namespace {

constexpr int kHalf = 1 << (kWeightBits - 1);

/// Two weights side by side, repeated four times, as _mm_madd_epi16 takes them.
__attribute__((target("ssse3"))) __m128i pair_of(const std::int16_t* weights) {
  std::int32_t pair;
  std::memcpy(&pair, weights, sizeof pair);
  return _mm_set1_epi32(pair);
}

__attribute__((target("ssse3"))) void ssse3_row(const std::uint8_t* in, std::span<const Tap> taps,
                                                const std::int16_t* weights, std::uint8_t* out) {
  // Two pixels r g b R G B become the 16-bit numbers r R g G b B 0 0.
  const __m128i spread = _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
  for (const Tap& tap : taps) {
    const std::uint8_t* pixel = in + std::ptrdiff_t{tap.first} * 3;
    const std::int16_t* weight = weights + tap.weights;
    __m128i sum = _mm_set1_epi32(kHalf);
    for (int i = 0; i < tap.count; i += 2, pixel += 6, weight += 2) {
      const __m128i two = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(pixel));
      sum = _mm_add_epi32(sum, _mm_madd_epi16(_mm_shuffle_epi8(two, spread), pair_of(weight)));
    }
    sum = _mm_srai_epi32(sum, kWeightBits);
    sum = _mm_packs_epi32(sum, sum);
    const int rgb0 = _mm_cvtsi128_si32(_mm_packus_epi16(sum, sum));
    std::memcpy(out, &rgb0, sizeof rgb0);
    out += 3;
  }
}

void ssse3_rows(const std::uint8_t* in, std::size_t in_stride, int count, std::span<const Tap> taps,
                const std::int16_t* weights, std::uint8_t* out, std::size_t out_stride) {
  for (int y = 0; y < count; ++y, in += in_stride, out += out_stride) {
    ssse3_row(in, taps, weights, out);
  }
}

/// Makes 16 bytes of an output row.
__attribute__((target("ssse3"))) void ssse3_block(const std::uint8_t* in, std::size_t stride,
                                                  const std::int16_t* weights, int count,
                                                  std::uint8_t* out) {
  const __m128i zero = _mm_setzero_si128();
  __m128i sum[4];
  for (__m128i& s : sum) s = _mm_set1_epi32(kHalf);
  for (int i = 0; i < count; i += 2, in += 2 * stride) {
    // The last row of an odd count has a partner of weight zero; the row itself is safe to read.
    const std::uint8_t* partner = i + 1 < count ? in + stride : in;
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(partner));
    const __m128i low = _mm_unpacklo_epi8(a, b), high = _mm_unpackhi_epi8(a, b);
    const __m128i pair = pair_of(weights + i);
    sum[0] = _mm_add_epi32(sum[0], _mm_madd_epi16(_mm_unpacklo_epi8(low, zero), pair));
    sum[1] = _mm_add_epi32(sum[1], _mm_madd_epi16(_mm_unpackhi_epi8(low, zero), pair));
    sum[2] = _mm_add_epi32(sum[2], _mm_madd_epi16(_mm_unpacklo_epi8(high, zero), pair));
    sum[3] = _mm_add_epi32(sum[3], _mm_madd_epi16(_mm_unpackhi_epi8(high, zero), pair));
  }
  for (__m128i& s : sum) s = _mm_srai_epi32(s, kWeightBits);
  const __m128i bytes =
      _mm_packus_epi16(_mm_packs_epi32(sum[0], sum[1]), _mm_packs_epi32(sum[2], sum[3]));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
}

void ssse3_column(const std::uint8_t* in, std::size_t stride, const std::int16_t* weights,
                  int count, std::uint8_t* out, std::size_t bytes) {
  constexpr std::size_t kBlock = 16;
  if (bytes < kBlock) return kPortableKernels.column(in, stride, weights, count, out, bytes);
  for (std::size_t x = 0; x + kBlock <= bytes; x += kBlock)
    ssse3_block(in + x, stride, weights, count, out + x);
  const std::size_t last = bytes - kBlock;  // overlaps the block before it
  if (bytes % kBlock != 0) ssse3_block(in + last, stride, weights, count, out + last);
}

}  // namespace

const ResizeKernels kSsse3Kernels = {"ssse3", ssse3_rows, ssse3_column};

}  // namespace packhorse::reader

#endif
