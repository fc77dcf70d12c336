#pragma once

#include "augment/steps/step.h"

namespace packhorse::reader::steps {

/// torchvision.transforms.v2.RandomRotation, about the centre, without `expand`.
struct RandomRotation {
  static constexpr std::string_view kName = "RandomRotation";
  static constexpr std::string_view kSummary =
      "torchvision's: turned counterclockwise by degrees from a range, or by up to so many either "
      "way";
  static constexpr bool kMovesPixels = true;

  Amount degrees = 0.0;
  Moving moving;

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("degrees", self.degrees);
    Moving::parameters(self.moving, visit);
  }

  void check() const {
    const Range range = either_way(degrees);
    require(is_within(range, -360, 360), kName,
            "the degrees must be within 0 and 360, or a range within -360 and 360");
    moving.check(kName);
  }

  Operations plan(ImageSize, SampleRandom random) const {
    const Range range = either_way(degrees);
    return {moving.operation(Kind::kRotate, {random.uniform(range[0], range[1])})};
  }
};

/// torchvision.transforms.v2.RandomAffine, about the centre.
struct RandomAffine {
  static constexpr std::string_view kName = "RandomAffine";
  static constexpr std::string_view kSummary =
      "torchvision's: turned clockwise, moved by up to these shares of the width and the height, "
      "scaled, sheared: along x, or (min, max) along x, then along y";
  static constexpr bool kMovesPixels = true;

  using Shear = std::variant<double, Range, std::array<double, 4>>;

  Amount degrees = 0.0;
  std::optional<Range> translate, scale;
  std::optional<Shear> shear;
  Moving moving;

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("degrees", self.degrees);
    visit("translate", self.translate);
    visit("scale", self.scale);
    visit("shear", self.shear);
    Moving::parameters(self.moving, visit);
  }

  void check() const {
    require(is_within(either_way(degrees), -360, 360), kName,
            "the degrees must be within 0 and 360, or a range within -360 and 360");
    if (translate) {
      require(is_probability((*translate)[0]) && is_probability((*translate)[1]), kName,
              "translate: give shares of 0 to 1");
    }
    if (scale) {
      require((*scale)[0] > 0 && is_within(*scale, 0, 1e3), kName,
              "the scale must be within 0 < min <= max <= 1000");
    }
    const auto [x, y] = shears();
    require(is_within(x, -89, 89) && is_within(y, -89, 89), kName,
            "the shear must be within -89 and 89 degrees");
    moving.check(kName);
  }

  Operations plan(ImageSize size, SampleRandom random) const {
    const auto draw = [&](const Range& range) { return random.uniform(range[0], range[1]); };
    const double turn = draw(either_way(degrees));
    const auto move = [&](double share, int side) {
      return std::nearbyint(draw({-share * side, share * side}));
    };
    const Range most = translate.value_or(Range{});
    const double right = move(most[0], size.width), down = move(most[1], size.height);
    const double times = draw(scale.value_or(Range{1, 1}));
    const auto [x, y] = shears();
    const double shear_x = draw(x), shear_y = draw(y);
    return {moving.operation(Kind::kAffine, {turn, right, down, times, shear_x, shear_y})};
  }

 private:
  std::array<Range, 2> shears() const {
    if (!shear) return {};
    if (const auto* four = std::get_if<2>(&*shear))
      return {{{(*four)[0], (*four)[1]}, {(*four)[2], (*four)[3]}}};
    if (const auto* range = std::get_if<Range>(&*shear)) return {{*range, {}}};
    const double x = std::get<double>(*shear);
    return {{{-x, x}, {}}};
  }
};

}  // namespace packhorse::reader::steps
