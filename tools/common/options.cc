#include "common/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "common/checks.h"
#include "common/outputs.h"
#include "labels/text_file.h"
#include "listing/names.h"
#include "loader/loader_table.h"
#include "packhorse/reader/loader.h"
#include "packhorse/storage/remote.h"
#include "storage/dataset/remote_table.h"

namespace packhorse::program {

namespace {

using Kind = Option::Kind;

std::string type_of(const Option& row) {
  if (!row.value_name.empty()) return std::string(row.value_name);
  if (row.choices != nullptr) return fmt::format("{{{}}}", fmt::join(row.choices(), ","));
  if (row.kind == Kind::kSize) return "SIZE";
  if (row.kind == Kind::kNumber) return "FLOAT";
  if (row.kind != Kind::kInteger) return "TEXT";
  return row.most == ~std::uint64_t{0} ? "UINT" : "INT";
}

/// "no-shuffle" for "shuffle", and for what no table has the name with dashes.
std::string flag_of(std::string_view name) {
  Option named;
  named.name = name;
  for (const RemoteOption& row : remote_options())
    if (row.name == name) named = row;
  for (const reader::LoaderOption& row : reader::loader_options())
    if (row.name == name) named = row;
  if (const Option* row = find_pack_option(name)) named = *row;
  return named.flag();
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
  const std::string names =
      letter + "--" + row.flag() + (row.kind == Kind::kSwitch ? ",!--no-" + row.flag() : "");
  const bool tells = row.kind == Kind::kSwitch && row.shows_default;
  const std::string help = spelled(row.help) + (!tells ? "" : shown == "true" ? " (on)" : " (off)");
  const bool bare = row.is_flag() || row.kind == Kind::kSwitch;
  CLI::Option* option = bare ? app.add_flag(names, help) : app.add_option(names, help);
  if (!heading.empty()) option->group(heading);
  if (row.required) option->required();
  for (const std::string_view other : row.excludes)
    if (!other.empty()) option->excludes(app.get_option("--" + flag_of(other)));
  if (!row.needs.empty()) option->needs(app.get_option("--" + flag_of(row.needs)));
  if (bare) return option;
  if (row.kind == Kind::kOutput)
    option->check(replaces_no_input(app, option, OutputContent::kText));
  option->type_name(type_of(row));
  if (row.shows_default) option->default_str(shown);
  if (row.is_repeated())
    option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(false);
  if (row.kind != Kind::kInteger) return option;
  if (row.most <= std::numeric_limits<int>::max())
    option->check(in_range(static_cast<int>(row.least), static_cast<int>(row.most)));
  else if (row.least > 0)
    option->check(positive());
  return option;
}

void TableOptions::declare(CLI::App& app, OptionGroup group, const std::string& heading) {
  for (const PackOption& row : pack_options(group)) declare(app, row, heading);
}

CLI::Option* TableOptions::add(const Option& row, CLI::Option* option) {
  declared_.emplace_back(&row, option);
  return option;
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

namespace {

std::string flag_text(std::string_view name, std::string_view value) {
  const Option* const row = find_pack_option(name);
  const std::string flag = "--" + flag_of(name);
  const bool switches = value.empty() || value == "true" || value == "false";
  if (switches || (row != nullptr && row->is_flag())) return flag;
  return flag + " " + naming::shell_word(std::string(value));
}

std::string command_text(const CommandCall& call) {
  std::string line = shell_command(call.command);
  for (const std::string& argument : call.arguments) line += " " + naming::shell_word(argument);
  for (const auto& [name, value] : call.options) line += " " + flag_text(name, value);
  return line;
}

}  // namespace

const OptionSpelling kShellSpelling = {flag_text, command_text};

}  // namespace packhorse::program
