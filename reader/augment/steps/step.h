#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "augment/operations.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/sample_random.h"

/// What the steps are written with. A step is a struct here and one name in pixel_steps.cc:
///
///     static constexpr std::string_view kName, kSummary;
///     its parameters, with their defaults: double, std::array<double, N>, Word, or std::variant
///     and std::optional of these
///     template <class Self, class Visit> static void parameters(Self& self, const Visit& visit);
///         calls visit("name", self.member) for each, in the order in which they may be given
///     void check() const;                                        throws Error(kUsage)
///     Operations plan(ImageSize size, SampleRandom random) const;      what a sample gets
///     static constexpr bool kMovesPixels = true;              only where pixels change their
///     places
///
/// or, where operations are not enough, instead of plan():
///
///     std::string explain(ImageSize size, SampleRandom random) const;  the same in words
///     void apply(const Picture& picture, SampleRandom random) const;
namespace packhorse::reader::steps {

using Range = std::array<double, 2>;
using Kind = Operation::Kind;

/// A parameter that is one of some words, which are known when compiling.
struct Word {
  std::span<const std::string_view> words;
  std::size_t chosen = 0;
};

/// A number or a range: what either is, is the step's to say.
using Amount = std::variant<double, Range>;

inline void require(bool holds, std::string_view step, std::string_view rule) {
  if (!holds) throw Error(ErrorKind::kUsage, std::string(step) + ": " + std::string(rule));
}

inline bool is_probability(double p) { return p >= 0 && p <= 1; }
inline bool is_amount(double x) { return x >= 0 && std::isfinite(x); }
inline bool is_whole(double x, double least, double most) {
  return x >= least && x <= most && x == std::floor(x);
}
inline bool is_within(const Range& range, double least, double most) {
  return least <= range[0] && range[0] <= range[1] && range[1] <= most && std::isfinite(range[1]);
}

/// torchvision's angles: a number is that much either way.
inline Range either_way(const Amount& amount) {
  if (const auto* number = std::get_if<double>(&amount)) return {-*number, *number};
  return std::get<Range>(amount);
}

inline bool happens(double p, SampleRandom& random) { return p >= 1 || random.uniform(0, 1) < p; }

/// How a step moves pixels: interpolation, and the colour beyond the picture.
struct Moving {
  Word interpolation{kInterpolations};
  std::variant<double, std::array<double, 3>> fill = 0.0;

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("interpolation", self.interpolation);
    visit("fill", self.fill);
  }
  void check(std::string_view step) const {
    for (const double level : levels())
      require(is_whole(level, 0, 255), step, "fill: levels are whole numbers of 0 to 255");
  }
  Operation operation(Kind kind, const std::array<double, 6>& values) const {
    const auto colour = levels();
    return {kind,
            values,
            static_cast<WarpInterpolation>(interpolation.chosen),
            {static_cast<std::uint8_t>(colour[0]), static_cast<std::uint8_t>(colour[1]),
             static_cast<std::uint8_t>(colour[2])}};
  }

 private:
  std::array<double, 3> levels() const {
    if (const auto* grey = std::get_if<double>(&fill)) return {*grey, *grey, *grey};
    return std::get<1>(fill);
  }
};

}  // namespace packhorse::reader::steps
