#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "packhorse/reader/sample_random.h"

/// Changes to a sample's pixels after it has been cropped and scaled: torchvision's definitions, as
/// pure functions of (seed, epoch, sample). Pixels are RGB, 8 bit, interleaved.
///
///     options.pixels = parse_pixel_steps("ColorJitter(hue=0.1), RandomErasing(0.25)");
namespace packhorse::reader {

/// One step with its parameters. Cannot be changed; copies share it; any thread may use it.
class PixelStep {
 public:
  /// What a parameter is set to: nothing ("None"), numbers (one, a range, a colour), or a word.
  using Value = std::variant<std::monostate, std::vector<double>, std::string>;
  struct Argument {
    std::string parameter = {};  ///< empty: the next one
    Value value = {};
  };

  /// Parameters that are not given have their defaults. Throws Error(kUsage): no such step, no such
  /// parameter, or a value that makes no sense.
  PixelStep(std::string_view name, const std::vector<Argument>& arguments);

  std::string_view name() const;
  /// As Python writes it, with what differs from the defaults: "ColorJitter(hue=0.1)".
  std::string text() const;
  /// Whether pixels may change their places: boxes and masks of a sample would not go with them.
  bool moves_pixels() const;
  /// Changes a sample with rows of `width` pixels.
  void apply(std::span<std::uint8_t> pixels, int width, SampleRandom random) const;
  /// What apply() does to a sample of this size, in words: "Rotate(8.7), Posterize(5)". Numbers are
  /// those that the operations use: factors, degrees, pixels. Empty where nothing is done.
  std::string explain(int width, int height, SampleRandom random) const;

  friend bool operator==(const PixelStep& a, const PixelStep& b) { return a.text() == b.text(); }

  class Model;  ///< defined where steps are (reader/augment)

 private:
  std::shared_ptr<const Model> model_;
};

using PixelSteps = std::vector<PixelStep>;

/// Parses steps as text() writes them, with commas between. Throws Error(kUsage).
PixelSteps parse_pixel_steps(std::string_view text);
/// parse_pixel_steps() makes the same steps of it.
std::string text_of(const PixelSteps& steps);

/// The stream that steps[i] draws from: its name and its number among steps of that name choose it.
SampleRandom stream_of(const PixelSteps& steps, std::size_t i, const SampleRandom& random);

/// Applies `steps` one after the other to a sample with rows of `width` pixels. Each draws from a
/// stream of its own: what it draws depends on no other step, and does not change what `random`
/// gives to plan_crop().
void apply(const PixelSteps& steps, const SampleRandom& random, int width,
           std::span<std::uint8_t> pixels);

/// What there is to choose from.
struct PixelStepKind {
  struct Parameter {
    std::string_view name;
    PixelStep::Value usual;  ///< its default
  };
  std::string_view name;
  std::string_view summary;
  std::vector<Parameter> parameters;  ///< in the order in which arguments without a name are taken
  std::shared_ptr<const PixelStep::Model> (*make)(const std::vector<PixelStep::Argument>&);
};
const std::vector<PixelStepKind>& all_pixel_steps();

}  // namespace packhorse::reader
