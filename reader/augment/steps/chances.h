#pragma once

#include "augment/steps/step.h"

/// torchvision's steps that do one operation with probability p.
namespace packhorse::reader::steps {

/// Those without a number of their own: `Step` names them and has the operation.
template <class Step>
struct Chance {
  double p = Step::kUsual;

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("p", self.p);
  }
  void check() const {
    require(is_probability(p), Step::kName, "the probability must be within 0 and 1");
  }
  Operations plan(ImageSize, SampleRandom random) const {
    return happens(p, random) ? Operations{{Step::kKind}} : Operations{};
  }
};

struct Grayscale {
  static constexpr std::string_view kName = "RandomGrayscale";
  static constexpr std::string_view kSummary = "torchvision's: all channels become the grey level";
  static constexpr double kUsual = 0.1;
  static constexpr Kind kKind = Kind::kGrayscale;
};
struct RandomGrayscale : Grayscale, Chance<Grayscale> {};

struct Equalize {
  static constexpr std::string_view kName = "RandomEqualize";
  static constexpr std::string_view kSummary =
      "torchvision's: levels so that each is about as frequent";
  static constexpr double kUsual = 0.5;
  static constexpr Kind kKind = Kind::kEqualize;
};
struct RandomEqualize : Equalize, Chance<Equalize> {};

struct Autocontrast {
  static constexpr std::string_view kName = "RandomAutocontrast";
  static constexpr std::string_view kSummary =
      "torchvision's: each channel's levels stretched to 0 and 255";
  static constexpr double kUsual = 0.5;
  static constexpr Kind kKind = Kind::kAutocontrast;
};
struct RandomAutocontrast : Autocontrast, Chance<Autocontrast> {};

struct Invert {
  static constexpr std::string_view kName = "RandomInvert";
  static constexpr std::string_view kSummary = "torchvision's: 255 minus the level";
  static constexpr double kUsual = 0.5;
  static constexpr Kind kKind = Kind::kInvert;
};
struct RandomInvert : Invert, Chance<Invert> {};

struct HorizontalFlip {
  static constexpr std::string_view kName = "RandomHorizontalFlip";
  static constexpr std::string_view kSummary = "torchvision's: left and right change places";
  static constexpr bool kMovesPixels = true;
  static constexpr double kUsual = 0.5;
  static constexpr Kind kKind = Kind::kHorizontalFlip;
};
struct RandomHorizontalFlip : HorizontalFlip, Chance<HorizontalFlip> {};

struct VerticalFlip {
  static constexpr std::string_view kName = "RandomVerticalFlip";
  static constexpr std::string_view kSummary = "torchvision's: top and bottom change places";
  static constexpr bool kMovesPixels = true;
  static constexpr double kUsual = 0.5;
  static constexpr Kind kKind = Kind::kVerticalFlip;
};
struct RandomVerticalFlip : VerticalFlip, Chance<VerticalFlip> {};

/// Those with one number, which torchvision has without a default.
struct RandomSolarize {
  static constexpr std::string_view kName = "RandomSolarize";
  static constexpr std::string_view kSummary =
      "torchvision's: levels from the threshold on are inverted";

  double threshold = 128, p = 0.5;

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("threshold", self.threshold);
    visit("p", self.p);
  }
  void check() const {
    require(threshold >= 0 && threshold <= 255, kName, "the threshold must be within 0 and 255");
    require(is_probability(p), kName, "the probability must be within 0 and 1");
  }
  Operations plan(ImageSize, SampleRandom random) const {
    return happens(p, random) ? Operations{{Kind::kSolarize, {threshold}}} : Operations{};
  }
};

struct RandomPosterize {
  static constexpr std::string_view kName = "RandomPosterize";
  static constexpr std::string_view kSummary = "torchvision's: keeps so many bits of each level";

  double bits = 4, p = 0.5;

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("bits", self.bits);
    visit("p", self.p);
  }
  void check() const {
    require(is_whole(bits, 0, 8), kName, "the bits must be a whole number of 0 to 8");
    require(is_probability(p), kName, "the probability must be within 0 and 1");
  }
  Operations plan(ImageSize, SampleRandom random) const {
    return happens(p, random) ? Operations{{Kind::kPosterize, {bits}}} : Operations{};
  }
};

struct RandomAdjustSharpness {
  static constexpr std::string_view kName = "RandomAdjustSharpness";
  static constexpr std::string_view kSummary =
      "torchvision's: 0 blurs, 1 changes nothing, 2 sharpens";

  double sharpness_factor = 2, p = 0.5;

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("sharpness_factor", self.sharpness_factor);
    visit("p", self.p);
  }
  void check() const {
    require(is_amount(sharpness_factor), kName, "the factor must be 0 or more");
    require(is_probability(p), kName, "the probability must be within 0 and 1");
  }
  Operations plan(ImageSize, SampleRandom random) const {
    return happens(p, random) ? Operations{{Kind::kSharpness, {sharpness_factor}}} : Operations{};
  }
};

}  // namespace packhorse::reader::steps
