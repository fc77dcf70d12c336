#pragma once

#include <fmt/format.h>

#include <algorithm>

#include "augment/steps/policy.h"
#include "packhorse/reader/sample_random.h"

namespace packhorse::reader::steps {

/// torchvision.transforms.v2.AugMix (Hendrycks et al. 2020, arXiv:1912.02781).
struct AugMix {
  static constexpr std::string_view kName = "AugMix";
  static constexpr std::string_view kSummary =
      "torchvision's: the picture mixed with copies of it that each went through a chain of "
      "operations";
  static constexpr bool kMovesPixels = true;
  static constexpr std::size_t kAll = kPolicyKinds.size() - 1;  ///< without kIdentity
  static constexpr Space kSpace = {.shear = .3,
                                   .degrees = 30,
                                   .enhance = .9,
                                   .translate = 1.0 / 3,
                                   .translate_side = true,
                                   .bits = 4,
                                   .bits_less = 4,
                                   .kinds = kAll};
  static constexpr std::size_t kWithoutColours = 9;
  static constexpr int kBins = 10;

  double severity = 3, mixture_width = 3, chain_depth = -1, alpha = 1, all_ops = 1;
  Moving moving = {.interpolation = {kInterpolations, 1}};

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("severity", self.severity);
    visit("mixture_width", self.mixture_width);
    visit("chain_depth", self.chain_depth);
    visit("alpha", self.alpha);
    visit("all_ops", self.all_ops);
    Moving::parameters(self.moving, visit);
  }

  void check() const {
    require(is_whole(severity, 1, kBins), kName, "the severity must be a whole number of 1 to 10");
    require(is_whole(mixture_width, 1, kMostOperations), kName,
            "mixture_width must be a whole number of 1 to 16");
    require(chain_depth == -1 || is_whole(chain_depth, 1, kMostOperations), kName,
            "chain_depth must be a whole number of 1 to 16, or -1 for 1 to 3 at random");
    require(alpha > 0 && is_amount(alpha), kName, "alpha must be above 0");
    require(all_ops == 0 || all_ops == 1, kName,
            "all_ops: give 1, or 0 without brightness, contrast, saturation and sharpness");
    moving.check(kName);
  }

  struct Chain {
    double weight;
    Operations operations = {};
  };
  struct Plan {
    double own;  ///< the weight of the picture itself
    std::vector<Chain> chains = {};
  };

  Plan plan(ImageSize size, SampleRandom random) const {
    Space space = kSpace;
    if (all_ops == 0) space.kinds = kWithoutColours;
    const std::vector<double> shares = draw_dirichlet(alpha, 2, random);
    Plan plan{.own = shares[0]};
    for (const double weight :
         draw_dirichlet(alpha, static_cast<std::size_t>(mixture_width), random)) {
      Chain& chain = plan.chains.emplace_back(Chain{weight * shares[1]});
      const std::int64_t depth =
          chain_depth > 0 ? static_cast<std::int64_t>(chain_depth) : 1 + random.integer(3);
      for (std::int64_t i = 0; i < depth; ++i) {
        const auto bin = static_cast<int>(random.integer(static_cast<std::int64_t>(severity)));
        chain.operations.push_back(space.draw(moving, bin, kBins, size, random));
      }
    }
    return plan;
  }

  std::string explain(ImageSize size, SampleRandom random) const {
    const Plan drawn = plan(size, random);
    std::string text = fmt::format("Keep({})", drawn.own);
    for (const Chain& chain : drawn.chains)
      text += fmt::format(", Mix({}), {}", chain.weight, text_of(chain.operations));
    return text;
  }

  void apply(const Picture& picture, SampleRandom random) const {
    const Plan drawn = plan(picture.size(), random);
    const std::size_t count = picture.pixels.size();
    std::vector<float> sums(count);
    const auto add = [&](std::span<const std::uint8_t> pixels, double weight) {
      const auto share = static_cast<float>(weight);
      for (std::size_t i = 0; i < count; ++i) sums[i] += share * static_cast<float>(pixels[i]);
    };
    add(picture.pixels, drawn.own);
    std::vector<std::uint8_t> copy(count);
    for (const Chain& chain : drawn.chains) {
      std::copy(picture.pixels.begin(), picture.pixels.end(), copy.begin());
      perform(chain.operations, {copy, picture.width, picture.scratch});
      add(copy, chain.weight);
    }
    for (std::size_t i = 0; i < count; ++i)
      picture.pixels[i] = static_cast<std::uint8_t>(std::min(sums[i], 255.0F));
  }
};

}  // namespace packhorse::reader::steps
