#include "option_values.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/choices.h"

namespace packhorse::python {

namespace {

using Kind = Option::Kind;

/// What the values of a kind are in Python, and in the annotations of keyword arguments.
struct Form {
  Kind kind;
  bool number, text, list, dict;
  const char* annotation;
};
constexpr std::array kForms = {
    Form{Kind::kFlag, false, false, false, false, "bool"},
    Form{Kind::kOff, false, false, false, false, "bool"},
    Form{Kind::kSwitch, false, false, false, false, "bool"},
    Form{Kind::kNumber, true, false, false, false, "float"},
    Form{Kind::kNumbers, false, true, true, false, "str | Sequence[float]"},
    Form{Kind::kInteger, true, false, false, false, "int"},
    Form{Kind::kSize, true, true, false, false, "int | str"},
    Form{Kind::kText, false, true, false, false, "str"},
    Form{Kind::kScalar, true, true, false, false, "int | str"},
    Form{Kind::kChoice, false, true, false, false, "str"},
    Form{Kind::kPath, false, true, false, false, "Path"},
    Form{Kind::kOutput, false, true, false, false, "Path"},
    Form{Kind::kTexts, false, true, true, false, "str | Iterable[str]"},
    Form{Kind::kNamedTexts, false, true, true, true, "str | Iterable[str] | Mapping[str, str]"},
    Form{Kind::kFiles, false, true, true, true, "Path | Iterable[Path] | Mapping[str, Path]"},
    Form{Kind::kNames, false, true, true, true, "str | Iterable[str] | Mapping[str, str]"},
    Form{Kind::kClassNames, false, true, true, false, "Path | Iterable[str]"},
};

const Form& form_of(const Option& option) {
  return *std::ranges::find(kForms, option.kind, &Form::kind);
}

[[noreturn]] void refuse_type(const Option& option, nb::handle value) {
  const auto given = nb::cast<std::string>(nb::str(value.type().attr("__name__")));
  throw nb::type_error(
      (std::string(option.name) + " must be " + form_of(option).annotation + ", not " + given)
          .c_str());
}

/// A str, a path or bytes, as the file system has it.
std::string text_of(nb::handle value, const Option& option) {
  if (!is_text(value)) refuse_type(option, value);
  const nb::bytes text(nb::module_::import_("os").attr("fsencode")(value));
  return {text.c_str(), text.size()};
}

/// "0.5": the shortest text that is read as the same number.
std::string number_text(nb::handle value, const Option& option) {
  if (nb::isinstance<nb::bool_>(value) || !nb::hasattr(value, "__float__"))
    refuse_type(option, value);
  std::array<char, 32> text{};
  const auto number = nb::cast<double>(nb::float_(value));
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

OptionValues texts_of(nb::handle value, const Option& option) {
  const Form& form = form_of(option);
  OptionValues texts;
  if (form.dict && nb::hasattr(value, "items")) {
    for (const nb::handle item : value.attr("items")())
      texts.push_back(text_of(item[0], option) + "=" + text_of(item[1], option));
  } else if (form.list && nb::hasattr(value, "__iter__")) {
    const bool numbers = option.kind == Kind::kNumbers;
    for (const nb::handle one : nb::iter(value))
      texts.push_back(numbers ? number_text(one, option) : text_of(one, option));
  } else {
    refuse_type(option, value);
  }
  return texts;
}

std::string joined(const OptionValues& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return names.empty() ? "none" : text;
}

OptionValues values_in(nb::handle value, const Option& option) {
  const Form& form = form_of(option);
  if (form.text && is_text(value)) return {text_of(value, option)};
  if (form.number && nb::hasattr(value, "__index__") && !nb::isinstance<nb::bool_>(value)) {
    const auto digits = nb::cast<std::string>(nb::str(value.attr("__index__")()));
    return {digits == "0" && !option.zero.empty() ? std::string(option.zero) : digits};
  }
  if (option.kind == Kind::kNumber) return {number_text(value, option)};
  OptionValues texts = texts_of(value, option);
  const bool joins = option.kind == Kind::kNames || option.kind == Kind::kNumbers;
  return joins ? OptionValues{joined(texts)} : texts;
}

[[noreturn]] void refuse_unknown(const std::string& name,
                                 const std::vector<const Option*>& options) {
  std::vector<std::string> names;
  for (const Option* option : options) names.emplace_back(option->name);
  const std::string meant = nearest(name, names);
  throw nb::type_error(("unexpected keyword argument '" + name + "'" +
                        (meant.empty() ? "" : ": did you mean '" + meant + "'?"))
                           .c_str());
}

}  // namespace

bool is_text(nb::handle value) {
  return nb::isinstance<nb::str>(value) || nb::isinstance<nb::bytes>(value) ||
         nb::hasattr(value, "__fspath__");
}

std::optional<OptionValues> values_of(nb::handle value, const Option& option) {
  if (value.is_none()) return std::nullopt;
  const bool is_switch = option.kind == Kind::kSwitch;
  if (!option.is_flag() && !is_switch) return values_in(value, option);
  if (!nb::isinstance<nb::bool_>(value)) refuse_type(option, value);
  if (is_switch) return OptionValues{nb::cast<bool>(value) ? "true" : "false"};
  if (nb::cast<bool>(value) != (option.kind == Kind::kFlag)) return std::nullopt;
  return OptionValues();
}

GivenOptions values_by_name(const nb::dict& values, const std::vector<const Option*>& options) {
  GivenOptions given;
  for (const auto& [key, value] : values) {
    const auto name = nb::cast<std::string>(key);
    const auto found = std::ranges::find(options, name, &Option::name);
    if (found == options.end()) refuse_unknown(name, options);
    if (const auto texts = values_of(value, **found)) given[name] = *texts;
  }
  return given;
}

nb::dict described(const Option& option, const std::string& default_text) {
  nb::dict row;
  row["name"] = std::string(option.name);
  row["flag"] = "--" + option.flag();
  row["given"] = option.kind == Kind::kFlag ? "True" : option.kind == Kind::kOff ? "False" : "";
  row["annotation"] = form_of(option).annotation;
  row["help"] = std::string(option.help);
  row["default"] = option.shows_default ? default_text : std::string();
  row["required"] = option.required;
  return row;
}

}  // namespace packhorse::python
