#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "packhorse/reader/sample_random.h"

/// Mixup and CutMix on a batch of pixels, as functions of (seed, epoch, step).
///
///     const MixPlan plan = plan_mix({.mixup_alpha = 0.2}, batch.size(), 224, seed, epoch, step);
///     mix(plan, batch.images(), 224);                                   // uint8 [B, S, S, 3]
///     const std::vector<std::int64_t> partners = partner_labels(plan, batch.labels());
///     loss = plan.lambda * cross_entropy(output, labels) + (1 - plan.lambda) * ... (partners)
namespace packhorse::reader {

struct MixOptions {
  double mixup_alpha = 0;     ///< of Beta(alpha, alpha); 0: no Mixup
  double cutmix_alpha = 0;    ///< the same for CutMix
  double cutmix_share = 0.5;  ///< when both are on: the probability of CutMix
  double probability = 1;     ///< probability that a batch is mixed at all
  /// Throws Error(kUsage).
  void validate() const;
};

/// How one batch is mixed: each sample with its partner.
struct MixPlan {
  enum class Kind : std::uint8_t { kNone, kMixup, kCutMix };
  Kind kind = Kind::kNone;
  double lambda = 1;               ///< share of a sample's own label; its partner's is 1 - lambda
  int x = 0, y = 0, w = 0, h = 0;  ///< CutMix: the box that comes from the partner, pixels
  std::vector<std::int64_t> partners = {};  ///< the place in the batch of each one's partner
};

/// torchvision.transforms.v2's MixUp and CutMix, with lambda from Beta(alpha, alpha) for the whole
/// batch; CutMix's lambda is then recomputed from the box as clipped at the border. Unlike
/// torchvision, partners are a random permutation, not the neighbours, and Mixup's lambda is a
/// multiple of 1/256, so that pixels and labels agree on it. Pictures are size x size. Every rank
/// draws the same for the same seed.
MixPlan plan_mix(const MixOptions& options, std::int64_t batch_size, int size, std::uint64_t seed,
                 std::uint64_t epoch, std::uint64_t step);

/// Mixes in place; `images` holds batch_size x size x size x 3 bytes. Mixup rounds pixels to the
/// nearest level. Allocates one picture. Any thread, one at a time per batch. Throws Error(kUsage)
/// when the sizes do not agree.
void mix(const MixPlan& plan, std::span<std::uint8_t> images, int size);

/// Draws from Beta(alpha, alpha).
double draw_beta(double alpha, SampleRandom& random);
/// Draws `count` shares from the symmetric Dirichlet distribution; their sum is 1.
std::vector<double> draw_dirichlet(double alpha, std::size_t count, SampleRandom& random);
/// lambda x own + (1 - lambda) x other, in place; lambda is rounded to a multiple of 1/256, pixels
/// to the nearest level. Both have the same size.
void blend(std::span<std::uint8_t> own, std::span<const std::uint8_t> other, double lambda);
/// The same of floats, which are not rounded.
void blend(std::span<float> own, std::span<const float> other, double lambda);

/// The label of each sample's partner; in an unmixed batch, of the sample itself.
std::vector<std::int64_t> partner_labels(const MixPlan& plan, std::span<const std::int64_t> labels);

}  // namespace packhorse::reader
