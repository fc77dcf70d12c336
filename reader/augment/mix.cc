#include "packhorse/reader/mix.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/permutation.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/augment.h"

namespace packhorse::reader {

namespace {

constexpr std::uint64_t kMixSalt = 0x6d6978;  // "mix": keeps steps apart from samples
constexpr unsigned kShares = 256;             // Mixup's lambda is a multiple of 1/256

/// The logarithm of a gamma-distributed number (Marsaglia, Tsang 2000). For small shapes most such
/// numbers are too small for a double.
double log_gamma_draw(double shape, SampleRandom& random) {
  double boost = 0;
  if (shape < 1) {
    boost = std::log(1 - random.uniform(0, 1)) / shape;
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

/// Draws CutMix's box: 1 - lambda of the area around a uniformly drawn point, clipped at the
/// border.
void draw_box(double lambda, int size, SampleRandom& random, MixPlan& plan) {
  const int x = static_cast<int>(random.integer(size)), y = static_cast<int>(random.integer(size));
  const int half = static_cast<int>(0.5 * std::sqrt(1 - lambda) * size);
  plan.x = std::max(0, x - half);
  plan.y = std::max(0, y - half);
  plan.w = std::min(size, x + half) - plan.x;
  plan.h = std::min(size, y + half) - plan.y;
  const double box = static_cast<double>(plan.w) * plan.h;
  plan.lambda = 1 - box / (static_cast<double>(size) * size);
}

std::size_t row_bytes(int pixels) { return static_cast<std::size_t>(pixels) * 3; }

/// Mixes the partner's share into `own`.
void mix_one(const MixPlan& plan, std::uint8_t* own, const std::uint8_t* partner, int size) {
  if (plan.kind == MixPlan::Kind::kMixup) {
    const std::size_t bytes = row_bytes(size) * static_cast<std::size_t>(size);
    return blend({own, bytes}, {partner, bytes}, plan.lambda);
  }
  for (int y = plan.y; y < plan.y + plan.h; ++y) {
    const std::size_t begin = row_bytes(size) * static_cast<std::size_t>(y) + row_bytes(plan.x);
    std::copy_n(partner + begin, row_bytes(plan.w), own + begin);
  }
}

bool is_alpha(double alpha) { return alpha >= 0 && std::isfinite(alpha); }
bool is_probability(double p) { return p >= 0 && p <= 1; }

}  // namespace

void MixOptions::validate() const {
  if (!is_alpha(mixup_alpha) || !is_alpha(cutmix_alpha)) {
    throw Error(ErrorKind::kUsage, "the alpha of Mixup and of CutMix must be 0 or more");
  }
  if (!is_probability(probability) || !is_probability(cutmix_share)) {
    throw Error(ErrorKind::kUsage,
                "the probability of mixing and CutMix's share must be within 0 and 1");
  }
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

void blend(std::span<std::uint8_t> own, std::span<const std::uint8_t> other, double lambda) {
  const auto own_shares = static_cast<unsigned>(std::lround(lambda * kShares));
  const unsigned other_shares = kShares - own_shares;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const unsigned sum = own[i] * own_shares + other[i] * other_shares + kShares / 2;
    own[i] = static_cast<std::uint8_t>(sum / kShares);
  }
}

void blend(std::span<float> own, std::span<const float> other, double lambda) {
  const float own_share = static_cast<float>(std::lround(lambda * kShares)) / float{kShares};
  if (own_share == 1) return;
  for (std::size_t i = 0; i < own.size(); ++i)
    own[i] = (own_share == 0 ? 0 : own[i] * own_share) + other[i] * (1 - own_share);
}

MixPlan plan_mix(const MixOptions& options, std::int64_t batch_size, int size, std::uint64_t seed,
                 std::uint64_t epoch, std::uint64_t step) {
  options.validate();
  MixPlan plan;
  SampleRandom random = SampleRandom(seed, epoch, step).stream(kMixSalt);
  const bool mixed = random.uniform(0, 1) < options.probability;
  const bool cut = random.uniform(0, 1) < options.cutmix_share;
  const bool cutmix = options.cutmix_alpha > 0 && (options.mixup_alpha <= 0 || cut);
  const double alpha = cutmix ? options.cutmix_alpha : options.mixup_alpha;
  if (!mixed || alpha <= 0) return plan;

  plan.kind = cutmix ? MixPlan::Kind::kCutMix : MixPlan::Kind::kMixup;
  const double lambda = draw_beta(alpha, random);
  plan.lambda = std::round(lambda * kShares) / kShares;
  if (cutmix) draw_box(lambda, size, random, plan);
  const Permutation permutation(static_cast<std::uint64_t>(batch_size), random.next());
  for (std::uint64_t i = 0; i < permutation.size(); ++i) {
    plan.partners.push_back(static_cast<std::int64_t>(permutation(i)));
  }
  return plan;
}

void mix(const MixPlan& plan, std::span<std::uint8_t> images, int size) {
  if (plan.kind == MixPlan::Kind::kNone) return;
  const std::size_t bytes = row_bytes(size) * static_cast<std::size_t>(size);
  if (images.size() != bytes * plan.partners.size()) {
    throw Error(ErrorKind::kUsage, "a mix of " + std::to_string(plan.partners.size()) +
                                       " pictures was planned for another batch");
  }
  const auto image = [&](std::size_t i) { return images.data() + i * bytes; };
  // Along each cycle of the permutation a partner is still unmixed when its turn comes, except the
  // first sample, which is the partner of the last.
  std::vector<bool> done(plan.partners.size());
  std::vector<std::uint8_t> first(bytes);
  for (std::size_t start = 0; start < done.size(); ++start) {
    if (done[start]) continue;
    std::copy_n(image(start), bytes, first.data());
    for (std::size_t i = start; !done[i];) {
      const auto partner = static_cast<std::size_t>(plan.partners[i]);
      mix_one(plan, image(i), partner == start ? first.data() : image(partner), size);
      done[i] = true;
      i = partner;
    }
  }
}

std::vector<std::int64_t> partner_labels(const MixPlan& plan,
                                         std::span<const std::int64_t> labels) {
  std::vector<std::int64_t> partners(labels.begin(), labels.end());
  for (std::size_t i = 0; i < plan.partners.size() && i < labels.size(); ++i) {
    partners[i] = labels[static_cast<std::size_t>(plan.partners[i])];
  }
  return partners;
}

}  // namespace packhorse::reader
