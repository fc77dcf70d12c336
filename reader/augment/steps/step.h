#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "packhorse/base/error.h"
#include "packhorse/reader/sample_random.h"

/// What the steps are written with. A step is one file here and one name in pixel_steps.cc: a
/// struct with
///
///     static constexpr std::string_view kName, kSummary;
///     its parameters, with their defaults: double, std::array<double, N>, or std::optional of
///     these template <class Self, class Visit> static void parameters(Self& self, const Visit&
///     visit);
///         calls visit("name", self.member) for each, in the order in which they may be given
///     void check() const;                              throws Error(kUsage)
///     void apply(Picture picture, SampleRandom random) const;
namespace packhorse::reader::steps {

using Range = std::array<double, 2>;

/// The sample: RGB, 8 bit, interleaved.
struct Picture {
  std::span<std::uint8_t> pixels;
  int width;
  int height() const { return static_cast<int>(pixels.size() / 3) / width; }
};

inline void require(bool holds, std::string_view step, std::string_view rule) {
  if (!holds) throw Error(ErrorKind::kUsage, std::string(step) + ": " + std::string(rule));
}

inline bool is_probability(double p) { return p >= 0 && p <= 1; }
inline bool is_amount(double x) { return x >= 0 && std::isfinite(x); }
inline bool is_within(const Range& range, double least, double most) {
  return least <= range[0] && range[0] <= range[1] && range[1] <= most && std::isfinite(range[1]);
}

}  // namespace packhorse::reader::steps
