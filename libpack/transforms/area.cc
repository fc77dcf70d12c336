#include "transforms/area.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace packhorse::transforms {

namespace {

constexpr int kWeightBits = 12;  // 8 + 12 + 12 bits just fit into 32
constexpr std::uint32_t kOne = 1u << kWeightBits;
constexpr std::uint32_t kHalfTotal = 1u << (2 * kWeightBits - 1);

/// Adds weight * row to the sums; the first row sets them.
template <bool kFirst>
[[gnu::always_inline]] inline void weigh(const std::uint8_t* row, std::size_t bytes,
                                         std::uint32_t weight, std::uint32_t* sums) {
  for (std::size_t i = 0; i < bytes; ++i) {
    sums[i] = (kFirst ? 0 : sums[i]) + weight * row[i];
  }
}

/// The columns' part of the filter: makes output samples from the sums of a row.
struct Columns {
  const std::uint32_t* sums;
  const int* first;  ///< first input pixel, by output pixel
  const std::uint32_t* weights;
  std::size_t width;  ///< number of weights for each output pixel
  std::size_t pixels, channels;
  std::uint8_t* out;
};

void add_plain(const Columns& row) {
  std::uint8_t* out = row.out;
  const std::uint32_t* weights = row.weights;
  for (std::size_t j = 0; j < row.pixels; ++j, weights += row.width) {
    const std::uint32_t* from = row.sums + static_cast<std::size_t>(row.first[j]) * row.channels;
    for (std::size_t c = 0; c < row.channels; ++c) {
      std::uint32_t total = kHalfTotal;
      for (std::size_t k = 0; k < row.width; ++k) total += from[k * row.channels + c] * weights[k];
      *out++ = static_cast<std::uint8_t>(total >> (2 * kWeightBits));
    }
  }
}

/// The filter's inner loops for one kind of machine. All variants give the same numbers.
struct Kernels {
  void (*first)(const std::uint8_t*, std::size_t, std::uint32_t, std::uint32_t*);
  void (*more)(const std::uint8_t*, std::size_t, std::uint32_t, std::uint32_t*);
  void (*add)(const Columns&);
};

constexpr Kernels kPlain{[](const std::uint8_t* row, std::size_t bytes, std::uint32_t weight,
                            std::uint32_t* sums) { weigh<true>(row, bytes, weight, sums); },
                         [](const std::uint8_t* row, std::size_t bytes, std::uint32_t weight,
                            std::uint32_t* sums) { weigh<false>(row, bytes, weight, sums); },
                         add_plain};

#if defined(__x86_64__)

__attribute__((target("avx2"))) void first_avx2(const std::uint8_t* row, std::size_t bytes,
                                                std::uint32_t weight, std::uint32_t* sums) {
  weigh<true>(row, bytes, weight, sums);
}
__attribute__((target("avx2"))) void more_avx2(const std::uint8_t* row, std::size_t bytes,
                                               std::uint32_t weight, std::uint32_t* sums) {
  weigh<false>(row, bytes, weight, sums);
}

/// Computes four output samples of one channel at once, with four weights each. This covers
/// shrinking by less than 3, which is all that JPEGs need.
__attribute__((target("avx2"))) void add_avx2(const Columns& row) {
  if (row.channels != 1 || row.width != 4) return add_plain(row);
  const auto product = [&](std::size_t j) __attribute__((target("avx2"))) {
    const auto* from = reinterpret_cast<const __m128i*>(row.sums + row.first[j]);
    const auto* weights = reinterpret_cast<const __m128i*>(row.weights + 4 * j);
    return _mm_mullo_epi32(_mm_loadu_si128(from), _mm_loadu_si128(weights));
  };
  std::size_t j = 0;
  for (; j + 4 <= row.pixels; j += 4) {
    const __m128i low = _mm_hadd_epi32(product(j), product(j + 1));
    const __m128i high = _mm_hadd_epi32(product(j + 2), product(j + 3));
    const __m128i total = _mm_add_epi32(_mm_hadd_epi32(low, high), _mm_set1_epi32(kHalfTotal));
    const __m128i wide = _mm_srli_epi32(total, 2 * kWeightBits);
    const __m128i words = _mm_packus_epi32(wide, wide);
    const int bytes = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
    std::memcpy(row.out + j, &bytes, sizeof bytes);
  }
  Columns rest = row;
  rest.first += j;
  rest.weights += 4 * j;
  rest.pixels -= j;
  rest.out += j;
  add_plain(rest);
}

const Kernels kKernels =
    __builtin_cpu_supports("avx2") != 0 ? Kernels{first_avx2, more_avx2, add_avx2} : kPlain;

#else

const Kernels kKernels = kPlain;

#endif

}  // namespace

void AreaResampler::Taps::make(const AreaAxis& axis) {
  const auto out = static_cast<std::size_t>(axis.out);
  width = std::max<std::size_t>(4, static_cast<std::size_t>(std::ceil(axis.scale)) + 1);
  first.resize(out);
  count.resize(out);
  weights.assign(out * width, 0);
  for (std::size_t j = 0; j < out; ++j) {
    const double begin = std::max(axis.origin + static_cast<double>(j) * axis.scale, 0.0);
    const double end =
        std::min<double>(axis.origin + static_cast<double>(j + 1) * axis.scale, axis.in);
    first[j] = std::clamp(static_cast<int>(begin), 0, axis.in - 1);
    const int last = std::clamp(static_cast<int>(std::ceil(end)), first[j] + 1, axis.in);
    count[j] = std::min(last - first[j], static_cast<int>(width));
    // Rounds the running sums, not the single shares, so that the weights add up.
    std::uint32_t given = 0;
    for (int k = 0; k < count[j]; ++k) {
      const double share = k + 1 == count[j] ? 1 : (first[j] + k + 1 - begin) / (end - begin);
      const auto sum = static_cast<std::uint32_t>(std::lround(share * kOne));
      weights[j * width + static_cast<std::size_t>(k)] = sum - given;
      given = sum;
    }
  }
}

void AreaResampler::start(const AreaAxis& x, const AreaAxis& y, int channels, std::uint8_t* out,
                          std::size_t out_stride) {
  x_.make(x);
  y_.make(y);
  channels_ = static_cast<std::size_t>(channels);
  row_bytes_ = static_cast<std::size_t>(x.in) * channels_;
  // Taps without weight may lie beyond the end of the row.
  sums_.assign(row_bytes_ + x_.width * channels_, 0);
  out_ = out;
  out_stride_ = out_stride;
  next_out_ = 0;
  next_in_ = 0;
}

void AreaResampler::add_row(const std::uint8_t* row) {
  const int in = next_in_++;
  for (; !done(); ++next_out_) {
    const int first = y_.first[next_out_];
    if (in < first) return;
    const std::uint32_t weight =
        y_.weights[next_out_ * y_.width + static_cast<std::size_t>(in - first)];
    (in == first ? kKernels.first : kKernels.more)(row, row_bytes_, weight, sums_.data());
    if (in + 1 < first + y_.count[next_out_]) return;
    kKernels.add({sums_.data(), x_.first.data(), x_.weights.data(), x_.width, x_.first.size(),
                  channels_, out_ + next_out_ * out_stride_});
  }
}

}  // namespace packhorse::transforms
