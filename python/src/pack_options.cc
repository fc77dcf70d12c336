#include "labels/text_file.h"
#include "option_values.h"
#include "pack_bindings.h"
#include "packhorse/base/error.h"

namespace packhorse::python {

using namespace nb::literals;

namespace {

const PackOption& find_option(const std::string& name,
                              const std::vector<const PackOption*>& options) {
  std::vector<std::string> names;
  for (const PackOption* option : options) {
    if (option->name == name) return *option;
    names.emplace_back(option->name);
  }
  refuse_unknown(name, names);
}

}  // namespace

GivenOptions given_options(const nb::dict& values, OptionTaker taker) {
  const std::vector<const PackOption*> options = pack_options(taker);
  GivenOptions given;
  for (const auto& [key, value] : values) {
    const PackOption& option = find_option(nb::cast<std::string>(key), options);
    const auto found = values_of(value, option);
    if (!found) continue;
    const bool names_file = option.kind == Option::Kind::kClassNames && is_text(value);
    given[std::string(option.name)] = names_file ? read_class_file(found->front()) : *found;
  }
  for (const PackOption* option : options) {
    if (option->required && !given.contains(option->name))
      throw nb::type_error(
          ("missing required keyword argument '" + std::string(option->name) + "'").c_str());
  }
  return given;
}

PackOptions pack_options_of(const GivenOptions& given) {
  PackOptions options;
  set_options(options, given);
  return options;
}

std::string keyword_text(std::string_view name, std::string_view value) {
  const PackOption* option = find_pack_option(name);
  std::string text = std::string(name) + "=";
  if (option != nullptr && option->is_flag())
    return text + (option->kind == Option::Kind::kFlag ? "True" : "False");
  const bool plain =  // a number, or FILE
      value.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string_view::npos ||
      (option != nullptr && option->kind == Option::Kind::kInteger);
  if (plain) return text.append(value);
  text += '\'';
  for (const char c : value) text.append(c == '\'' || c == '\\' ? 1 : 0, '\\') += c;
  return text + '\'';
}

void bind_options(nb::module_& module) {
  module.def(
      "options",
      [] {
        nb::dict tables;
        for (const auto& [name, taker] : std::initializer_list<std::pair<const char*, OptionTaker>>{
                 {"pack", OptionTaker::kPack},
                 {"verify", OptionTaker::kVerify},
                 {"writer", OptionTaker::kWriter},
                 {"index", OptionTaker::kIndex}}) {
          nb::list rows;
          for (const PackOption* option : pack_options(taker))
            rows.append(described(*option, option->text({})));
          tables[name] = rows;
        }
        return tables;
      },
      "The options that each function takes: what scripts/options makes");
}

}  // namespace packhorse::python
