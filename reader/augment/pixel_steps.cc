#include "packhorse/reader/pixel_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <iterator>
#include <map>
#include <optional>
#include <span>

#include "augment/steps/aug_mix.h"
#include "augment/steps/auto_augment.h"
#include "augment/steps/chances.h"
#include "augment/steps/color_jitter.h"
#include "augment/steps/gaussian_blur.h"
#include "augment/steps/photometric_distort.h"
#include "augment/steps/rand_augment.h"
#include "augment/steps/random_affine.h"
#include "augment/steps/random_erasing.h"
#include "augment/steps/three_augment.h"
#include "augment/steps/timm_rand_augment.h"
#include "base/choices.h"
#include "base/hash.h"
#include "base/text.h"
#include "packhorse/base/error.h"

namespace packhorse::reader {

class PixelStep::Model {
 public:
  virtual ~Model() = default;
  virtual std::string_view name() const = 0;
  virtual std::string text() const = 0;
  virtual bool moves_pixels() const = 0;
  virtual void apply(const Picture& picture, SampleRandom random) const = 0;
  virtual std::string explain(ImageSize size, SampleRandom random) const = 0;
};

namespace {

using Value = PixelStep::Value;
using Argument = PixelStep::Argument;

constexpr std::size_t kMaxTextBytes = 64 << 10;

Value value_of(double parameter) { return std::vector{parameter}; }
Value value_of(const steps::Word& parameter) {
  return std::string(parameter.words[parameter.chosen]);
}
template <std::size_t N>
Value value_of(const std::array<double, N>& parameter) {
  return std::vector<double>(parameter.begin(), parameter.end());
}
template <class... T>
Value value_of(const std::variant<T...>& parameter) {
  return std::visit([](const auto& kind) { return value_of(kind); }, parameter);
}
template <class T>
Value value_of(const std::optional<T>& parameter) {
  return parameter ? value_of(*parameter) : Value();
}

/// Each returns what should have been given, or nothing where it could be taken.
std::string take(const Value& value, double& parameter) {
  const auto* numbers = std::get_if<std::vector<double>>(&value);
  if (numbers == nullptr || numbers->size() != 1) return "one number";
  parameter = numbers->front();
  return {};
}
template <std::size_t N>
std::string take(const Value& value, std::array<double, N>& parameter) {
  const auto* numbers = std::get_if<std::vector<double>>(&value);
  if (numbers == nullptr || numbers->size() != N)
    return std::array{"two", "three", "four"}.at(N - 2) + std::string(" numbers");
  std::copy_n(numbers->begin(), N, parameter.begin());
  return {};
}
std::string take(const Value& value, steps::Word& parameter) {
  const auto* word = std::get_if<std::string>(&value);
  const auto found = word == nullptr ? parameter.words.end()
                                     : std::ranges::find(parameter.words, std::string_view(*word));
  if (found == parameter.words.end())
    return fmt::format("'{}'", fmt::join(parameter.words, "', '"));
  parameter.chosen = static_cast<std::size_t>(found - parameter.words.begin());
  return {};
}
template <class... T>
std::string take(const Value& value, std::variant<T...>& parameter) {
  std::vector<std::string> wanted;
  const auto take_one = [&]<class Kind>(Kind made) {
    const std::string other = take(value, made);
    if (other.empty()) parameter = made;
    wanted.push_back(other);
    return other.empty();
  };
  if ((take_one(T()) || ...)) return {};
  return fmt::format("{}", fmt::join(wanted, " or "));
}
template <class T>
std::string take(const Value& value, std::optional<T>& parameter) {
  parameter.reset();
  if (value.index() == 0) return {};
  const std::string wanted = take(value, parameter.emplace());
  return wanted.empty() ? "" : wanted + " or None";
}

std::string in_words(const Value& value) {
  if (const auto* word = std::get_if<std::string>(&value)) return "'" + *word + "'";
  const auto* values = std::get_if<std::vector<double>>(&value);
  if (values == nullptr) return "None";
  const std::string numbers = fmt::format("{}", fmt::join(*values, ", "));
  return values->size() == 1 ? numbers : "(" + numbers + ")";
}

template <class Step>
std::vector<PixelStepKind::Parameter> parameters_of(const Step& step) {
  std::vector<PixelStepKind::Parameter> parameters;
  Step::parameters(step, [&](std::string_view name, const auto& parameter) {
    parameters.push_back({name, value_of(parameter)});
  });
  return parameters;
}

template <class Step>
class ModelOf final : public PixelStep::Model {
 public:
  explicit ModelOf(const std::vector<Argument>& arguments) {
    std::vector<std::string> names;
    Step::parameters(step_, [&](std::string_view name, const auto&) { names.emplace_back(name); });
    std::map<std::string, Value> given;
    std::size_t next = 0;
    for (const Argument& argument : arguments) {
      if (argument.parameter.empty() && next == names.size())
        refuse(fmt::format("takes {} parameters at most", names.size()), names);
      const std::string& name = argument.parameter.empty() ? names[next++] : argument.parameter;
      if (std::ranges::find(names, name) == names.end())
        refuse("has no parameter '" + name + "'", names, name);
      if (!given.emplace(name, argument.value).second) refuse(name + " is given twice", names);
    }
    Step::parameters(step_, [&](const std::string& name, auto& parameter) {
      const auto found = given.find(name);
      if (found == given.end()) return;
      if (const std::string wanted = take(found->second, parameter); !wanted.empty())
        throw Error(ErrorKind::kUsage, fmt::format("{}: {}={}: give {}", Step::kName, name,
                                                   in_words(found->second), wanted));
    });
    step_.check();
  }

  std::string_view name() const override { return Step::kName; }

  std::string text() const override {
    std::vector<std::string> changed;
    const auto usual = parameters_of(Step());
    const auto mine = parameters_of(step_);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (mine[i].usual != usual[i].usual)
        changed.push_back(fmt::format("{}={}", mine[i].name, in_words(mine[i].usual)));
    }
    return fmt::format("{}({})", Step::kName, fmt::join(changed, ", "));
  }

  bool moves_pixels() const override {
    return requires { Step::kMovesPixels; };
  }

  void apply(const Picture& picture, SampleRandom random) const override {
    if constexpr (kHasOperations) {
      perform(step_.plan(picture.size(), random), picture);
    } else {
      step_.apply(picture, random);
    }
  }

  std::string explain(ImageSize size, SampleRandom random) const override {
    if constexpr (kHasOperations) {
      return text_of(step_.plan(size, random));
    } else {
      return step_.explain(size, random);
    }
  }

 private:
  static constexpr bool kHasOperations = requires(const Step& step, SampleRandom random) {
    { step.plan(ImageSize(), random) } -> std::same_as<Operations>;
  };

  [[noreturn]] static void refuse(const std::string& what, const std::vector<std::string>& names,
                                  const std::string& slip = {}) {
    throw Error(ErrorKind::kUsage, fmt::format("{}: {}", Step::kName, what), {},
                choice_advice(slip, names));
  }

  Step step_;
};

template <class Step>
PixelStepKind kind() {
  return {Step::kName, Step::kSummary, parameters_of(Step()),
          [](const std::vector<Argument>& arguments) -> std::shared_ptr<const PixelStep::Model> {
            return std::make_shared<ModelOf<Step>>(arguments);
          }};
}

/// timm's "rand-m9-mstd0.5-inc1" as arguments of TimmRandAugment. Nothing where `text` is none.
std::optional<std::vector<Argument>> timm_arguments(std::string_view text) {
  constexpr std::array<std::array<std::string_view, 2>, 6> kSections = {{
      {"mstd", "magnitude_std"},
      {"mmax", "magnitude_max"},
      {"inc", "increasing"},
      {"m", "magnitude"},
      {"n", "num_ops"},
      {"p", "p"},
  }};
  std::vector<Argument> arguments;
  if (!text.starts_with("rand-")) return std::nullopt;
  for (std::size_t end = 4; end < text.size();) {
    const std::size_t begin = end + 1;
    end = std::min(text.find('-', begin), text.size());
    const std::string_view section = text.substr(begin, end - begin);
    const std::size_t letters = std::min(section.find_first_of("0123456789."), section.size());
    const auto found = std::ranges::find(kSections, section.substr(0, letters),
                                         [](const auto& row) { return row[0]; });
    const auto number = parse_number<double>(section.substr(letters));
    if (found == kSections.end() || !number) return std::nullopt;
    arguments.push_back({std::string((*found)[1]), std::vector{*number}});
  }
  return arguments;
}

/// Reads "Name(1, b=(2, 3), c=None, d='word'), ...".
class StepParser {
 public:
  explicit StepParser(std::string_view text) : text_(text) {
    if (text.size() > kMaxTextBytes) refuse("is longer than 64 KiB");
  }

  PixelSteps steps() {
    PixelSteps steps;
    while (!at_end()) {
      if (!steps.empty()) expect(',');
      steps.push_back(step());
    }
    return steps;
  }

 private:
  PixelStep step() {
    skip_spaces();
    const std::size_t begin = at_;
    const std::string name(word());
    if (name.empty()) refuse("a step's name is missing");
    if (at_ < text_.size() && text_[at_] == '-') {
      const std::size_t end = std::min(text_.find_first_of(", \n", at_), text_.size());
      const auto timm = timm_arguments(text_.substr(begin, end - begin));
      if (!timm) refuse("of timm's, only rand- with m, n, p, mstd, mmax and inc is known");
      at_ = end;
      return {steps::TimmRandAugment::kName, *timm};
    }
    std::vector<Argument> arguments;
    if (accept('(')) {
      while (!accept(')')) {
        if (!arguments.empty()) {
          expect(',');
          if (accept(')')) break;
        }
        arguments.push_back(argument());
      }
    }
    return {name, arguments};
  }

  Argument argument() {
    const std::size_t begin = at_;
    const std::string_view name = word();
    if (!name.empty() && accept('=')) return {std::string(name), value()};
    at_ = begin;
    return {.value = value()};
  }

  Value value() {
    if (accept('(')) {
      std::vector<double> numbers;
      while (!accept(')')) {
        if (!numbers.empty()) {
          expect(',');
          if (accept(')')) break;
        }
        numbers.push_back(number());
      }
      return numbers;
    }
    for (const char quote : {'\'', '"'}) {
      if (!accept(quote)) continue;
      const std::size_t end = std::min(text_.find(quote, at_), text_.size());
      std::string text(text_.substr(at_, end - at_));
      at_ = end;
      expect(quote);
      return text;
    }
    const std::string_view text = word();
    if (text == "None") return {};
    if (!text.empty()) return std::string(text);
    return std::vector{number()};
  }

  double number() {
    skip_spaces();
    double value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) refuse("a number is missing");
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::string_view word() {
    skip_spaces();
    const std::size_t begin = at_;
    const auto is_letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    while (at_ < text_.size() && (is_letter(text_[at_]) || (at_ > begin && is_digit(text_[at_]))))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool at_end() {
    skip_spaces();
    return at_ == text_.size();
  }
  bool accept(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse(fmt::format("a '{}' is missing", c));
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("pixel steps '{}': {} at character {}",
                    text_.substr(0, std::min<std::size_t>(text_.size(), 200)), what, at_ + 1),
        {}, "write e.g. ColorJitter(brightness=0.4, hue=0.1), RandomErasing(0.25)");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

const std::vector<PixelStepKind>& all_pixel_steps() {
  static const std::vector<PixelStepKind> kKinds = {kind<steps::RandAugment>(),
                                                    kind<steps::TimmRandAugment>(),
                                                    kind<steps::TrivialAugmentWide>(),
                                                    kind<steps::AutoAugment>(),
                                                    kind<steps::AugMix>(),
                                                    kind<steps::ThreeAugment>(),
                                                    kind<steps::ColorJitter>(),
                                                    kind<steps::PhotometricDistort>(),
                                                    kind<steps::GaussianBlur>(),
                                                    kind<steps::RandomGrayscale>(),
                                                    kind<steps::RandomSolarize>(),
                                                    kind<steps::RandomPosterize>(),
                                                    kind<steps::RandomEqualize>(),
                                                    kind<steps::RandomAutocontrast>(),
                                                    kind<steps::RandomAdjustSharpness>(),
                                                    kind<steps::RandomInvert>(),
                                                    kind<steps::RandomRotation>(),
                                                    kind<steps::RandomAffine>(),
                                                    kind<steps::RandomHorizontalFlip>(),
                                                    kind<steps::RandomVerticalFlip>(),
                                                    kind<steps::RandomErasing>()};
  return kKinds;
}

PixelStep::PixelStep(std::string_view name, const std::vector<Argument>& arguments) {
  const auto& kinds = all_pixel_steps();
  const auto found = std::ranges::find(kinds, name, &PixelStepKind::name);
  if (found == kinds.end()) {
    std::vector<std::string> names;
    for (const PixelStepKind& kind : kinds) names.emplace_back(kind.name);
    throw Error(ErrorKind::kUsage, fmt::format("there is no pixel step '{}'", name), {},
                choice_advice(name, names));
  }
  model_ = found->make(arguments);
}

std::string_view PixelStep::name() const { return model_->name(); }

std::string PixelStep::text() const { return model_->text(); }

bool PixelStep::moves_pixels() const { return model_->moves_pixels(); }

void PixelStep::apply(std::span<std::uint8_t> pixels, int width, SampleRandom random) const {
  if (pixels.empty()) return;
  PixelBuffer scratch;
  model_->apply({pixels, width, scratch}, random);
}

std::string PixelStep::explain(int width, int height, SampleRandom random) const {
  return model_->explain(ImageSize(height, width), random);
}

PixelSteps parse_pixel_steps(std::string_view text) { return StepParser(text).steps(); }

std::string text_of(const PixelSteps& steps) {
  std::vector<std::string> texts;
  std::ranges::transform(steps, std::back_inserter(texts), &PixelStep::text);
  return fmt::format("{}", fmt::join(texts, ", "));
}

SampleRandom stream_of(const PixelSteps& steps, std::size_t i, const SampleRandom& random) {
  const std::string_view name = steps[i].name();
  const auto before = std::ranges::count(std::span(steps).first(i), name, &PixelStep::name);
  return random.stream(xxh3(as_bytes(name))).stream(static_cast<std::uint64_t>(before));
}

void apply(const PixelSteps& steps, const SampleRandom& random, int width,
           std::span<std::uint8_t> pixels) {
  for (std::size_t i = 0; i < steps.size(); ++i)
    steps[i].apply(pixels, width, stream_of(steps, i, random));
}

}  // namespace packhorse::reader
