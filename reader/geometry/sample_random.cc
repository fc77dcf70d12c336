#include "packhorse/reader/sample_random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/permutation.h"

namespace packhorse::reader {

namespace {

/// The logarithm of a gamma-distributed number (Marsaglia, Tsang 2000). For small shapes most such
/// numbers are too small for a double.
double log_gamma_draw(double shape, SampleRandom& random) {
  double boost = 0;
  if (shape < 1) {
    // Finite, so that of two such numbers there is a difference.
    boost = std::max(std::log(1 - random.uniform(0, 1)) / shape,
                     std::numeric_limits<double>::lowest() / 2);
    shape += 1;
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double u = 1 - random.uniform(0, 1);
    if (std::log(u) < x * x / 2 + d * (1 - v + std::log(v))) return std::log(d * v) + boost;
  }
}

}  // namespace

SampleRandom::SampleRandom(std::uint64_t seed, std::uint64_t epoch, std::uint64_t sample,
                           std::uint64_t occurrence)
    : key_(mix64(mix64(mix64(seed) + epoch) + sample)) {
  if (occurrence != 0) key_ = mix64(key_ + mix64(occurrence));
}

std::uint64_t SampleRandom::next() { return mix64(key_ + 0x9e3779b97f4a7c15u * counter_++); }

double SampleRandom::uniform(double low, double high) {
  return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53);
}

std::int64_t SampleRandom::integer(std::int64_t n) {
  // Draws as many bits as n - 1 has, again while they are too large: unbiased, and fewer than two
  // draws on average.
  const auto limit = static_cast<std::uint64_t>(n);
  const int shift = std::countl_zero(limit - 1);
  if (limit <= 1) return 0;
  std::uint64_t value;
  do {
    value = next() >> shift;
  } while (value >= limit);
  return static_cast<std::int64_t>(value);
}

double SampleRandom::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(0, 1)));
  return radius * std::cos(uniform(0, 2 * std::numbers::pi));
}

SampleRandom SampleRandom::stream(std::uint64_t purpose) const {
  SampleRandom other = *this;
  other.key_ = mix64(key_ ^ mix64(~purpose));
  other.counter_ = 0;
  return other;
}

double draw_beta(double alpha, SampleRandom& random) {
  const double a = log_gamma_draw(alpha, random), b = log_gamma_draw(alpha, random);
  return 1 / (1 + std::exp(b - a));
}

std::vector<double> draw_dirichlet(double alpha, std::size_t count, SampleRandom& random) {
  std::vector<double> shares(count);
  for (double& share : shares) share = log_gamma_draw(alpha, random);
  const double largest = *std::ranges::max_element(shares);
  double sum = 0;
  for (double& share : shares) sum += share = std::exp(share - largest);
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace packhorse::reader
