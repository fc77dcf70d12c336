#include "packhorse/reader/mix.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/permutation.h"
#include "packhorse/base/error.h"
#include "pixel_format/pixel_kernels.h"

namespace packhorse::reader {

namespace {

constexpr std::uint64_t kMixSalt = 0x6d6978;  // "mix": keeps steps apart from samples
constexpr unsigned kShares = 256;             // Mixup's lambda is a multiple of 1/256

/// Draws CutMix's box: 1 - lambda of the area around a uniformly drawn point, clipped at the
/// border.
void draw_box(double lambda, ImageSize size, SampleRandom& random, MixPlan& plan) {
  const int x = static_cast<int>(random.integer(size.width));
  const int y = static_cast<int>(random.integer(size.height));
  const int half_w = static_cast<int>(0.5 * std::sqrt(1 - lambda) * size.width);
  const int half_h = static_cast<int>(0.5 * std::sqrt(1 - lambda) * size.height);
  plan.x = std::max(0, x - half_w);
  plan.y = std::max(0, y - half_h);
  plan.w = std::min(size.width, x + half_w) - plan.x;
  plan.h = std::min(size.height, y + half_h) - plan.y;
  const double box = static_cast<double>(plan.w) * plan.h;
  plan.lambda = 1 - box / (static_cast<double>(size.width) * size.height);
}

unsigned shares_of(double lambda) { return static_cast<unsigned>(std::lround(lambda * kShares)); }

template <class T>
void blend_integers(std::span<T> own, std::span<const T> other, double lambda) {
  const unsigned own_shares = shares_of(lambda), other_shares = kShares - own_shares;
  for (std::size_t i = 0; i < own.size(); ++i)
    own[i] =
        static_cast<T>((own[i] * own_shares + other[i] * other_shares + kShares / 2) / kShares);
}

template <class T>
std::span<T> numbers_in(std::uint8_t* bytes, std::size_t count) {
  return {reinterpret_cast<T*>(bytes), count / sizeof(T)};
}
template <class T>
std::span<const T> numbers_in(const std::uint8_t* bytes, std::size_t count) {
  return {reinterpret_cast<const T*>(bytes), count / sizeof(T)};
}

/// The bytes of a picture: `rows` of them, each of `columns` pieces.
struct PictureBytes {
  PictureBytes(ImageSize size, std::size_t channels, const PixelFormat& format)
      : type(format.type),
        planes(format.layout == PixelLayout::kPlanes ? channels : 1),
        rows(static_cast<std::size_t>(size.height)),
        piece(size_of(format.type) * channels / planes),
        row(static_cast<std::size_t>(size.width) * piece),
        all(planes * rows * row) {}
  PixelType type;
  std::size_t planes, rows, piece, row, all;
};

void blend_pictures(std::uint8_t* own, const std::uint8_t* partner, const PictureBytes& bytes,
                    double lambda) {
  const unsigned shares = shares_of(lambda);
  if (shares == kShares) return;  // also where the partner's numbers are infinite
  if (shares == 0) return static_cast<void>(std::copy_n(partner, bytes.all, own));
  switch (bytes.type) {
    case PixelType::kUint8:
      return blend_integers<std::uint8_t>({own, bytes.all}, {partner, bytes.all}, lambda);
    case PixelType::kUint16:
      return blend_integers(numbers_in<std::uint16_t>(own, bytes.all),
                            numbers_in<std::uint16_t>(partner, bytes.all), lambda);
    case PixelType::kFloat32:
      return blend(numbers_in<float>(own, bytes.all), numbers_in<float>(partner, bytes.all),
                   lambda);
    case PixelType::kFloat16:
      static const PixelKernels kernels = fastest_pixel_kernels();
      return kernels.blend_halves(
          numbers_in<Half>(partner, bytes.all).data(), bytes.all / sizeof(Half),
          static_cast<float>(shares) / float{kShares}, numbers_in<Half>(own, bytes.all).data());
  }
}

/// Mixes the partner's share into `own`.
void mix_one(const MixPlan& plan, std::uint8_t* own, const std::uint8_t* partner,
             const PictureBytes& bytes) {
  if (plan.kind == MixPlan::Kind::kMixup) return blend_pictures(own, partner, bytes, plan.lambda);
  const auto top = static_cast<std::size_t>(plan.y), left = static_cast<std::size_t>(plan.x);
  for (std::size_t plane = 0; plane < bytes.planes; ++plane) {
    for (std::size_t y = top; y < top + static_cast<std::size_t>(plan.h); ++y) {
      const std::size_t begin = (plane * bytes.rows + y) * bytes.row + left * bytes.piece;
      std::copy_n(partner + begin, static_cast<std::size_t>(plan.w) * bytes.piece, own + begin);
    }
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

void blend(std::span<std::uint8_t> own, std::span<const std::uint8_t> other, double lambda) {
  blend_integers(own, other, lambda);
}

void blend(std::span<float> own, std::span<const float> other, double lambda) {
  const float own_share = static_cast<float>(std::lround(lambda * kShares)) / float{kShares};
  if (own_share == 1) return;
  for (std::size_t i = 0; i < own.size(); ++i)
    own[i] = (own_share == 0 ? 0 : own[i] * own_share) + other[i] * (1 - own_share);
}

MixPlan plan_mix(const MixOptions& options, std::int64_t batch_size, ImageSize size,
                 std::uint64_t seed, std::uint64_t epoch, std::uint64_t step) {
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

void mix(const MixPlan& plan, std::span<std::uint8_t> images, ImageSize size, std::size_t channels,
         const PixelFormat& format) {
  if (plan.kind == MixPlan::Kind::kNone) return;
  const PictureBytes bytes(size, channels, format);
  if (images.size() != bytes.all * plan.partners.size()) {
    throw Error(ErrorKind::kUsage, "a mix of " + std::to_string(plan.partners.size()) +
                                       " pictures was planned for another batch");
  }
  const auto image = [&](std::size_t i) { return images.data() + i * bytes.all; };
  // Along each cycle of the permutation a partner is still unmixed when its turn comes, except the
  // first sample, which is the partner of the last.
  std::vector<bool> done(plan.partners.size());
  std::vector<std::uint8_t> first(bytes.all);
  for (std::size_t start = 0; start < done.size(); ++start) {
    if (done[start]) continue;
    std::copy_n(image(start), bytes.all, first.data());
    for (std::size_t i = start; !done[i];) {
      const auto partner = static_cast<std::size_t>(plan.partners[i]);
      mix_one(plan, image(i), partner == start ? first.data() : image(partner), bytes);
      done[i] = true;
      i = partner;
    }
  }
}

std::vector<float> soft_targets(const MixPlan& plan, std::span<const std::int64_t> labels,
                                std::size_t classes, double smoothing) {
  const double spread = smoothing / static_cast<double>(classes);
  const auto own = static_cast<float>(plan.lambda * (1 - smoothing));
  const auto other = static_cast<float>((1 - plan.lambda) * (1 - smoothing));
  std::vector<float> targets(labels.size() * classes, static_cast<float>(spread));
  const std::vector<std::int64_t> partners = partner_labels(plan, labels);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (const std::int64_t label : {labels[i], partners[i]}) {
      if (label < 0 || std::cmp_greater_equal(label, classes))
        throw Error(ErrorKind::kCorrupt, "the label " + std::to_string(label) +
                                             " is none of the dataset's " +
                                             std::to_string(classes) + " classes");
    }
    const std::span row = std::span(targets).subspan(i * classes, classes);
    row[static_cast<std::size_t>(labels[i])] += own;
    row[static_cast<std::size_t>(partners[i])] += other;
  }
  return targets;
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
