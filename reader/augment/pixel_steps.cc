#include "packhorse/reader/pixel_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>

#include "augment/steps/color_jitter.h"
#include "augment/steps/photometric_distort.h"
#include "augment/steps/random_erasing.h"
#include "base/choices.h"
#include "base/hash.h"
#include "packhorse/base/error.h"

namespace packhorse::reader {

class PixelStep::Model {
 public:
  virtual ~Model() = default;
  virtual std::string_view name() const = 0;
  virtual std::string text() const = 0;
  virtual void apply(steps::Picture picture, SampleRandom random) const = 0;
};

namespace {

using Value = PixelStep::Value;
using Argument = PixelStep::Argument;

constexpr std::size_t kMaxTextBytes = 64 << 10;

Value value_of(double parameter) { return std::vector{parameter}; }
template <std::size_t N>
Value value_of(const std::array<double, N>& parameter) {
  return std::vector<double>(parameter.begin(), parameter.end());
}
template <class T>
Value value_of(const std::optional<T>& parameter) {
  return parameter ? value_of(*parameter) : Value();
}

/// Each returns what should have been given, or nothing where it could be taken.
const char* take(const Value& value, double& parameter) {
  if (!value || value->size() != 1) return "one number";
  parameter = value->front();
  return nullptr;
}
template <std::size_t N>
const char* take(const Value& value, std::array<double, N>& parameter) {
  if (!value || value->size() != N) return N == 2 ? "two numbers" : "three numbers";
  std::copy_n(value->begin(), N, parameter.begin());
  return nullptr;
}
template <class T>
const char* take(const Value& value, std::optional<T>& parameter) {
  parameter.reset();
  return value ? take(value, parameter.emplace()) : nullptr;
}

std::string in_words(const Value& value) {
  if (!value) return "None";
  const std::string numbers = fmt::format("{}", fmt::join(*value, ", "));
  return value->size() == 1 ? numbers : "(" + numbers + ")";
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
      if (const char* wanted = take(found->second, parameter))
        refuse(fmt::format("{}={}: give {}", name, in_words(found->second), wanted), names);
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

  void apply(steps::Picture picture, SampleRandom random) const override {
    step_.apply(picture, random);
  }

 private:
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

/// Reads "Name(1, b=(2, 3), c=None), ...".
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
    const std::string name(word());
    if (name.empty()) refuse("a step's name is missing");
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
    if (name.empty() || name == "None") {
      at_ = begin;
      return {.value = value()};
    }
    expect('=');
    return {std::string(name), value()};
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
    const std::size_t begin = at_;
    if (word() == "None") return std::nullopt;
    at_ = begin;
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
    while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
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
  static const std::vector<PixelStepKind> kKinds = {
      kind<steps::ColorJitter>(), kind<steps::PhotometricDistort>(), kind<steps::RandomErasing>()};
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

void PixelStep::apply(std::span<std::uint8_t> pixels, int width, SampleRandom random) const {
  model_->apply({pixels, width}, random);
}

PixelSteps parse_pixel_steps(std::string_view text) { return StepParser(text).steps(); }

std::string text_of(const PixelSteps& steps) {
  std::vector<std::string> texts;
  std::ranges::transform(steps, std::back_inserter(texts), &PixelStep::text);
  return fmt::format("{}", fmt::join(texts, ", "));
}

void apply(const PixelSteps& steps, const SampleRandom& random, int width,
           std::span<std::uint8_t> pixels) {
  for (auto step = steps.begin(); step != steps.end(); ++step) {
    const std::string_view name = step->name();
    const auto before = std::count_if(steps.begin(), step,
                                      [&](const PixelStep& other) { return other.name() == name; });
    step->apply(pixels, width,
                random.stream(xxh3(as_bytes(name))).stream(static_cast<std::uint64_t>(before)));
  }
}

}  // namespace packhorse::reader
