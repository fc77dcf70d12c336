#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "packhorse/reader/geometry.h"
#include "packhorse/reader/pixel_format.h"
#include "packhorse/reader/sample_random.h"

/// Mixup and CutMix on a batch of pixels, as functions of (seed, epoch, step). A Loader does this
/// itself where LoaderOptions::mix asks for it.
///
///     const ImageSize size = {224, 224};
///     const MixPlan plan = plan_mix({.mixup_alpha = 0.2}, batch.size(), size, seed, epoch, step);
///     mix(plan, batch.images(), size);                                  // uint8 [B, H, W, 3]
///     const std::vector<std::int64_t> partners = partner_labels(plan, batch.labels());
///     loss = plan.lambda * cross_entropy(output, labels) + (1 - plan.lambda) * ... (partners)
namespace packhorse::reader {

struct MixOptions {
  double mixup_alpha = 0;     ///< of Beta(alpha, alpha); 0: no Mixup
  double cutmix_alpha = 0;    ///< the same for CutMix
  double cutmix_share = 0.5;  ///< when both are on: the probability of CutMix
  double probability = 1;     ///< probability that a batch is mixed at all
  bool any() const { return mixup_alpha > 0 || cutmix_alpha > 0; }
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
/// multiple of 1/256, so that pixels and labels agree on it. Every rank draws the same for the same
/// seed.
MixPlan plan_mix(const MixOptions& options, std::int64_t batch_size, ImageSize size,
                 std::uint64_t seed, std::uint64_t epoch, std::uint64_t step);

/// Mixes in place; `images` holds the bytes of batch_size pictures of that size, whose numbers are
/// of the format's type and layout. Mixup rounds integers to the nearest, and float16 as it is
/// rounded elsewhere. Allocates one picture. Any thread, one at a time per batch. Throws
/// Error(kUsage) when the sizes do not agree.
void mix(const MixPlan& plan, std::span<std::uint8_t> images, ImageSize size,
         std::size_t channels = 3, const PixelFormat& format = {});

/// lambda x own + (1 - lambda) x other, in place; lambda is rounded to a multiple of 1/256, pixels
/// to the nearest level. Both have the same size.
void blend(std::span<std::uint8_t> own, std::span<const std::uint8_t> other, double lambda);
/// The same of floats, which are not rounded.
void blend(std::span<float> own, std::span<const float> other, double lambda);

/// The labels of a mixed batch.
struct MixedLabels {
  std::vector<float> targets = {};          ///< [size, classes]: soft_targets()
  std::vector<std::int64_t> partners = {};  ///< [size]: partner_labels()
  double lambda = 1;                        ///< the share of a sample's own label
};

/// What the images of a batch are trained towards: float32 [batch, classes]. Each row is lambda x
/// own label + (1 - lambda) x partner's, one-hot, of which `smoothing` is spread over all classes:
/// torchvision's MixUp and CutMix, and timm's Mixup. Throws Error(kCorrupt) for a label outside the
/// classes.
std::vector<float> soft_targets(const MixPlan& plan, std::span<const std::int64_t> labels,
                                std::size_t classes, double smoothing = 0);

/// The label of each sample's partner; in an unmixed batch, of the sample itself.
std::vector<std::int64_t> partner_labels(const MixPlan& plan, std::span<const std::int64_t> labels);

}  // namespace packhorse::reader
