#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Options as rows of a table. The command line, Python's keywords, their docs and the names of
/// unfinished work are all made from the rows (packing/option_table.h).
namespace packhorse {

/// The numbers that a kNumber may be.
struct NumberRange {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above = false, below = false;  ///< without `least`, without `most`

  bool has(double value) const;
  /// "above 0 and at most 1"
  std::string text() const;
};

struct Option {
  /// What its value is: as text, and in Python.
  enum class Kind : std::uint8_t {
    kFlag,        ///< it is given, or not: True
    kOff,         ///< it is on unless `off` is given: False
    kSwitch,      ///< on or off, either may be given: True or False
    kInteger,     ///< a whole number
    kNumber,      ///< a number
    kNumbers,     ///< "0.5,0.25,1", or a word: the same, or a list of numbers
    kSize,        ///< of memory or a file, "256MiB": the same text, or a number
    kText,        ///< any text
    kScalar,      ///< "0.5%", the name of a column: a text or a number
    kChoice,      ///< one of `choices`
    kPath,        ///< a file or directory
    kOutput,      ///< a file that is written
    kTexts,       ///< several texts: one, or a list
    kNamedTexts,  ///< several texts, "NAME=TEXT" among them: the same, or a dict
    kFiles,       ///< the same where the texts name files
    kNames,       ///< "a,b", "a=x,b=y", or "none": a list, a dict, an empty list
    kClassNames,  ///< a file with a name a line: the same, or a list of names
  };
  /// What another value would change. Unfinished work is kept only if nothing changes.
  enum class Effect : std::uint8_t {
    kListing,  ///< which samples there are, in which order, with which labels and fields
    kBytes,    ///< what is stored of a sample
    kRejects,  ///< whether a sample is stored
    kNeither,
  };
  /// Rows that several commands take together; they are adjacent in the table.
  enum class Group : std::uint8_t {
    kRun,
    kSource,
    kSelection,
    kAccepted,
    kLimits,
    kBands,
    kDecode,
    kImages,
    kShards,
    kTasks,
    kStorage,
  };

  std::string_view name;  ///< Python's keyword; the flag has dashes for its underscores
  std::string_view help;  ///< with other options as spelled() takes them
  Kind kind = Kind::kText;
  Effect effect = Effect::kNeither;
  Group group = Group::kRun;
  char letter = 0;            ///< of a short flag
  std::string_view off = {};  ///< the flag of a kOff, without "--"
  std::string_view value_name = {};
  std::int64_t least = 0;  ///< of a kInteger
  std::uint64_t most = ~std::uint64_t{0};
  std::string_view zero = {};  ///< of a kSize: the word for 0, where it has a meaning
  std::vector<std::string> (*choices)() = nullptr;
  bool shows_default = false;
  bool required = false;
  std::array<std::string_view, 2> excludes = {};
  std::string_view needs = {};
  NumberRange range = {};  ///< of a kNumber

  bool is_flag() const { return kind == Kind::kFlag || kind == Kind::kOff; }
  bool is_repeated() const {
    return kind == Kind::kTexts || kind == Kind::kNamedTexts || kind == Kind::kFiles;
  }
  /// "short-side", "no-shuffle"
  std::string flag() const;
};

/// The values given for an option: none for a flag, several for a repeated option, else one.
using OptionValues = std::vector<std::string>;

/// Values by the names of their options; those that are not there keep their defaults.
using GivenOptions = std::map<std::string, OptionValues, std::less<>>;

/// Throws Error(kUsage) where an option is given that `option` excludes.
void refuse_both(const Option& option, const GivenOptions& given);

/// A row, and the members of `Options` behind it.
template <class Options>
struct OptionOf : Option {
  struct Value {
    /// Throws Error(kUsage) for an invalid value.
    void (*set)(Options&, const OptionValues&, const Option&);
    /// Different for different values. Of the defaults, what help shows.
    std::string (*text)(const Options&);
  };
  Value value;

  void set(Options& options, const OptionValues& values) const {
    value.set(options, values, *this);
  }
  std::string text(const Options& options) const { return value.text(options); }
};

/// The row of that name, which there is.
template <std::derived_from<Option> Row>
const Row& find_row(std::span<const Row> rows, std::string_view name) {
  return *std::ranges::find(rows, name, &Option::name);
}

/// Sets what is given, in the order of the rows. Throws Error(kUsage) for a value that is none, and
/// for options that exclude each other.
template <class Options>
void set_given(Options& options, const auto& rows, const GivenOptions& given) {
  for (const OptionOf<Options>& row : rows) {
    const auto found = given.find(row.name);
    if (found == given.end()) continue;
    refuse_both(row, given);
    row.set(options, found->second);
  }
}

/// Throws Error(kUsage) for a number in `options` that is beyond the range of its row.
template <class Options>
void check_ranges(Options options, const auto& rows) {
  for (const OptionOf<Options>& row : rows) {
    if (row.kind != Option::Kind::kInteger && row.kind != Option::Kind::kNumber) continue;
    if (const std::string text = row.text(options); !text.empty()) row.set(options, {text});
  }
}

/// A command with its arguments and options, as a person would give it.
struct CommandCall {
  std::string command;                 ///< "pack"
  std::vector<std::string> arguments;  ///< a word in capitals stands for what the reader puts there
  std::vector<std::pair<std::string, std::string>> options;  ///< names and values
};

/// How options and commands are named in messages. Texts of the library, those of an Error too,
/// have options as "`labels=FILE`" and commands as "`inspect(verify=full)`"; this shows
/// them as a front end's users give them, "--labels FILE" and "`packhorse inspect DATASET --verify
/// full`", once it has said how. Any thread.
std::string spelled(std::string_view text);
/// One option alone, as it is shown, and one command, which may have any values.
std::string opt(std::string_view name, std::string_view value = {});
std::string call(const CommandCall& command);

/// The program and its command as they are typed: "packhorse pack", "packhorse-train fit".
std::string shell_command(std::string_view command);

/// How a front end's users give options and commands. The value of a flag is "true" or "false", or
/// empty.
struct OptionSpelling {
  std::string (*option)(std::string_view name, std::string_view value);
  std::string (*call)(const CommandCall& command);
};
/// Says how, before threads are started; `spelling` must stay. nullptr: as the texts have them.
void spell_options(const OptionSpelling* spelling);

}  // namespace packhorse
