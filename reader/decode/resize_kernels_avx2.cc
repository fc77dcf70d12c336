#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#include "decode/resize_kernels.h"

// Like the SSSE3 kernels, but with two rows of a pair of pixels, or 32 bytes of a row, at a time.
namespace packhorse::reader {

namespace {

constexpr int kHalf = 1 << (kWeightBits - 1);

/// Two weights side by side, repeated eight times, as _mm256_madd_epi16 takes them.
__attribute__((target("avx2"))) inline __m256i pair_of(const std::int16_t* weights) {
  std::int32_t pair;
  std::memcpy(&pair, weights, sizeof pair);
  return _mm256_set1_epi32(pair);
}

/// Loads 16 bytes from each of two rows.
__attribute__((target("avx2"))) inline __m256i two_rows(const std::uint8_t* in,
                                                        std::size_t stride) {
  return _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(in + stride),
                             reinterpret_cast<const __m128i*>(in));
}

inline void put(std::uint8_t* out, int pixel) { std::memcpy(out, &pixel, sizeof pixel); }

/// Makes four rows, which share the weights.
__attribute__((target("avx2"))) void four_rows(const std::uint8_t* in, std::size_t in_stride,
                                               std::span<const Tap> taps,
                                               const std::int16_t* weights, std::uint8_t* out,
                                               std::size_t out_stride) {
  // Two pixels r g b R G B become the 16-bit numbers r R g G b B 0 0.
  const __m256i spread = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
  for (const Tap& tap : taps) {
    const std::uint8_t* pixel = in + std::ptrdiff_t{tap.first} * 3;
    const std::int16_t* weight = weights + tap.weights;
    __m256i upper = _mm256_set1_epi32(kHalf), lower = upper;
    for (int i = 0; i < tap.count; i += 2, pixel += 6, weight += 2) {
      const __m256i pair = pair_of(weight);
      const __m256i a = _mm256_shuffle_epi8(two_rows(pixel, in_stride), spread);
      const __m256i b = _mm256_shuffle_epi8(two_rows(pixel + 2 * in_stride, in_stride), spread);
      upper = _mm256_add_epi32(upper, _mm256_madd_epi16(a, pair));
      lower = _mm256_add_epi32(lower, _mm256_madd_epi16(b, pair));
    }
    const __m256i words = _mm256_packs_epi32(_mm256_srai_epi32(upper, kWeightBits),
                                             _mm256_srai_epi32(lower, kWeightBits));
    const __m256i bytes = _mm256_packus_epi16(words, words);  // rows 0 and 2, rows 1 and 3
    const __m128i even = _mm256_castsi256_si128(bytes), odd = _mm256_extracti128_si256(bytes, 1);
    put(out, _mm_cvtsi128_si32(even));
    put(out + out_stride, _mm_cvtsi128_si32(odd));
    put(out + 2 * out_stride, _mm_extract_epi32(even, 1));
    put(out + 3 * out_stride, _mm_extract_epi32(odd, 1));
    out += 3;
  }
}

void avx2_rows(const std::uint8_t* in, std::size_t in_stride, int count, std::span<const Tap> taps,
               const std::int16_t* weights, std::uint8_t* out, std::size_t out_stride) {
  for (; count >= 4; count -= 4, in += 4 * in_stride, out += 4 * out_stride) {
    four_rows(in, in_stride, taps, weights, out, out_stride);
  }
  kSsse3Kernels.rows(in, in_stride, count, taps, weights, out, out_stride);
}

/// Makes 32 bytes of an output row.
__attribute__((target("avx2"))) void avx2_block(const std::uint8_t* in, std::size_t stride,
                                                const std::int16_t* weights, int count,
                                                std::uint8_t* out) {
  const __m256i zero = _mm256_setzero_si256();
  __m256i sum[4];
  for (__m256i& s : sum) s = _mm256_set1_epi32(kHalf);
  for (int i = 0; i < count; i += 2, in += 2 * stride) {
    // The last row of an odd count has a partner of weight zero; the row itself is safe to read.
    const std::uint8_t* partner = i + 1 < count ? in + stride : in;
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(partner));
    const __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
    const __m256i pair = pair_of(weights + i);
    const auto add = [&](int at, __m256i words) __attribute__((target("avx2"), always_inline)) {
      sum[at] = _mm256_add_epi32(sum[at], _mm256_madd_epi16(words, pair));
    };
    add(0, _mm256_unpacklo_epi8(low, zero));
    add(1, _mm256_unpackhi_epi8(low, zero));
    add(2, _mm256_unpacklo_epi8(high, zero));
    add(3, _mm256_unpackhi_epi8(high, zero));
  }
  for (__m256i& s : sum) s = _mm256_srai_epi32(s, kWeightBits);
  // Packing undoes, within each half, the order that unpacking made.
  const __m256i bytes =
      _mm256_packus_epi16(_mm256_packs_epi32(sum[0], sum[1]), _mm256_packs_epi32(sum[2], sum[3]));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), bytes);
}

void avx2_column(const std::uint8_t* in, std::size_t stride, const std::int16_t* weights, int count,
                 std::uint8_t* out, std::size_t bytes) {
  constexpr std::size_t kBlock = 32;
  if (bytes < kBlock) return kSsse3Kernels.column(in, stride, weights, count, out, bytes);
  for (std::size_t x = 0; x + kBlock <= bytes; x += kBlock)
    avx2_block(in + x, stride, weights, count, out + x);
  const std::size_t last = bytes - kBlock;  // overlaps the block before it
  if (bytes % kBlock != 0) avx2_block(in + last, stride, weights, count, out + last);
}

}  // namespace

const ResizeKernels kAvx2Kernels = {"avx2", avx2_rows, avx2_column};

}  // namespace packhorse::reader

#endif
