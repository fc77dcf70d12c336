#include "common/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/checks.h"
#include "labels/text_file.h"
#include "listing/names.h"
#include "packhorse/storage/remote.h"
#include "storage/dataset/remote_table.h"

namespace packhorse::program {

namespace {

using Kind = Option::Kind;

std::string type_of(const Option& row) {
  if (!row.value_name.empty()) return std::string(row.value_name);
  if (row.choices != nullptr) return fmt::format("{{{}}}", fmt::join(row.choices(), ","));
  if (row.kind == Kind::kSize) return "SIZE";
  if (row.kind != Kind::kInteger) return "TEXT";
  return row.most == ~std::uint64_t{0} ? "UINT" : "INT";
}

/// Fills a part of PackOptions with what is given for a row, as soon as it is.
template <class Part>
void set_at_once(CLI::Option* option, const PackOption& row, Part& part,
                 Part PackOptions::*member) {
  option->each([&row, &part, member](const std::string& value) {
    PackOptions options;
    options.*member = part;
    row.set(options, {value});
    part = options.*member;
  });
}

}  // namespace

CLI::Option* declare_option(CLI::App& app, const Option& row, const std::string& shown,
                            const std::string& heading) {
  const std::string letter = row.letter != 0 ? fmt::format("-{},", row.letter) : "";
  const std::string names = letter + "--" + row.flag();
  const std::string help = spelled(row.help);
  CLI::Option* option = row.is_flag() ? app.add_flag(names, help) : app.add_option(names, help);
  if (!heading.empty()) option->group(heading);
  if (row.required) option->required();
  for (const std::string_view other : row.excludes)
    if (!other.empty()) option->excludes(app.get_option("--" + find_pack_option(other)->flag()));
  if (row.is_flag()) return option;
  option->type_name(type_of(row));
  if (row.shows_default) option->default_str(shown);
  if (row.is_repeated())
    option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(false);
  if (row.kind != Kind::kInteger) return option;
  if (row.most != ~std::uint64_t{0})
    option->check(in_range(static_cast<int>(row.least), static_cast<int>(row.most)));
  else if (row.least > 0)
    option->check(positive());
  return option;
}

void TableOptions::declare(CLI::App& app, OptionGroup group, const std::string& heading) {
  for (const PackOption& row : pack_options(group)) declare(app, row, heading);
}

void TableOptions::declare(CLI::App& app, const PackOption& row, const std::string& heading) {
  declared_.emplace_back(&row, declare_option(app, row, row.text({}), heading));
}

std::string TableOptions::any_of(OptionGroup group) const {
  for (const auto& [row, option] : declared_)
    if (row->group == group && option->count() > 0) return std::string(row->name);
  return {};
}

GivenOptions TableOptions::given() const {
  GivenOptions given;
  for (const auto& [row, option] : declared_) {
    if (option->count() == 0) continue;
    OptionValues& values = given[std::string(row->name)];
    if (row->is_flag()) continue;
    values = option->results();
    if (row->kind == Kind::kClassNames) values = read_class_file(values.front());
  }
  return given;
}

void add_image_limits(CLI::App& app, ImageLimits& limits, const std::string& heading) {
  PackOptions defaults;
  defaults.limits = limits;
  for (const PackOption& row : pack_options(OptionGroup::kLimits))
    set_at_once(declare_option(app, row, row.text(defaults), heading), row, limits,
                &PackOptions::limits);
}

void add_bands(CLI::App& app, ImageLimits& limits, const std::string& heading,
               CLI::Option* needed) {
  for (const PackOption& row : pack_options(OptionGroup::kBands)) {
    CLI::Option* option = declare_option(app, row, {}, heading);
    set_at_once(option, row, limits, &PackOptions::limits);
    if (needed != nullptr) option->needs(needed);
  }
}

bool has_image_limits(const CLI::App& app) {
  return std::ranges::any_of(pack_options(OptionGroup::kLimits), [&](const PackOption& row) {
    return app.get_option("--" + row.flag())->count() > 0;
  });
}

std::string flag_text(std::string_view name, std::string_view value) {
  Option named;
  named.name = name;
  for (const RemoteOption& row : remote_options())
    if (row.name == name) named = row;
  if (const Option* row = find_pack_option(name)) named = *row;
  if (value.empty() || value == "true" || named.is_flag()) return "--" + named.flag();
  return "--" + named.flag() + " " + naming::shell_word(std::string(value));
}

}  // namespace packhorse::program
