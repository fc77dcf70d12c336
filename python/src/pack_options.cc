#include "base/choices.h"
#include "labels/text_file.h"
#include "option_values.h"
#include "pack_bindings.h"
#include "packhorse/base/error.h"

namespace packhorse::python {

using namespace nb::literals;

GivenOptions given_options(const nb::dict& values, OptionTaker taker) {
  const std::vector<const PackOption*> options = pack_options(taker);
  GivenOptions given = values_by_name(values, {options.begin(), options.end()});
  for (const PackOption* option : options) {
    if (option->required && !given.contains(option->name)) {
      std::string text = "missing required keyword argument '" + std::string(option->name) + "'";
      if (option->choices != nullptr) text += "; " + choice_advice("", option->choices());
      throw nb::type_error(text.c_str());
    }
    const auto found = given.find(option->name);
    if (found != given.end() && option->kind == Option::Kind::kClassNames &&
        is_text(values[std::string(option->name).c_str()]))
      found->second = read_class_file(found->second.front());
  }
  return given;
}

PackOptions pack_options_of(const GivenOptions& given) {
  PackOptions options;
  set_options(options, given);
  return options;
}

std::string pack_keyword_text(std::string_view name, std::string_view value) {
  const PackOption* option = find_pack_option(name);
  if (option == nullptr || !option->is_flag()) return keyword_text(name, value);
  return std::string(name) + (option->kind == Option::Kind::kFlag ? "=True" : "=False");
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
                 {"index", OptionTaker::kIndex},
                 {"check", OptionTaker::kCheck}}) {
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
