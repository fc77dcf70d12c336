#pragma once

#include <CLI/CLI.hpp>
#include <concepts>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packhorse/base/error.h"
#include "packing/option_table.h"

/// Options of the library's tables on the command line.
namespace packhorse::program {

/// Declares a row, `shown` being its default in the help. It sets nothing.
CLI::Option* declare_option(CLI::App& app, const Option& row, const std::string& shown,
                            const std::string& heading);

/// Those that were declared, and what was given for them.
class TableOptions {
 public:
  /// Declares the options of a group; `heading` is that of the help, or empty.
  void declare(CLI::App& app, OptionGroup group, const std::string& heading);
  /// Declares a row of any table.
  template <std::derived_from<Option> Row>
  CLI::Option* declare(CLI::App& app, const Row& row, const std::string& heading = {}) {
    return add(row, declare_option(app, row, row.text({}), heading));
  }
  /// Declares rows of any table, by their names.
  template <std::derived_from<Option> Row>
  void declare(CLI::App& app, std::span<const Row> rows,
               std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) declare(app, find_row(rows, name));
  }
  /// One that was declared by declare_option().
  CLI::Option* add(const Option& row, CLI::Option* option);
  /// Whether one of the group was given; its name, or nothing. Call it after parsing, as given().
  std::string any_of(OptionGroup group) const;
  /// Reads lists of classes. Throws Error as that does.
  GivenOptions given() const;

 private:
  std::vector<std::pair<const Option*, const CLI::Option*>> declared_;
};

/// Declares --max-pixels, --max-scan-pixels, --max-decoded-bytes and --first-frame, which fill
/// `limits`.
void add_image_limits(CLI::App& app, ImageLimits& limits, const std::string& heading);
/// Whether one of these options is given.
bool has_image_limits(const CLI::App& app);
/// Declares --bands and --pages-as-bands, for commands that read what is to be packed, after
/// --first-frame. With `needed`, they need that option.
void add_bands(CLI::App& app, ImageLimits& limits, const std::string& heading,
               CLI::Option* needed = nullptr);

/// "--short-side 256", "packhorse pack SOURCE OUT --limit 7": how these programs' users give
/// options and commands (base/option.h).
extern const OptionSpelling kShellSpelling;

/// The Error(kUsage) for a command line that `app` has refused. `words`: the command line without
/// the program's name.
Error usage_error(CLI::App& app, const CLI::ParseError& error,
                  const std::vector<std::string>& words);

/// Throws Error(kUsage) for values that CLI11 takes for others or for nothing given: empty ones,
/// which would act as if the option had not been given, negative and octal numbers, and numbers
/// that are too large.
void check_values(const CLI::App& app);

}  // namespace packhorse::program
