#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Options as rows of a table. The command line, Python's keywords, their docs and the names of
/// unfinished work are all made from the rows (packing/option_table.h).
namespace packhorse {

struct Option {
  /// What its value is: as text, and in Python.
  enum class Kind : std::uint8_t {
    kFlag,        ///< it is given, or not: True
    kOff,         ///< it is on unless `off` is given: False
    kInteger,     ///< a whole number
    kSize,        ///< of memory or a file, "256MiB": the same text, or a number
    kText,        ///< any text
    kScalar,      ///< "0.5%", the name of a column: a text or a number
    kChoice,      ///< one of `choices`
    kPath,        ///< a file or directory
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
  std::uint64_t least = 0, most = ~std::uint64_t{0};  ///< of a kInteger
  std::string_view zero = {};  ///< of a kSize: the word for 0, where it has a meaning
  std::vector<std::string> (*choices)() = nullptr;
  bool shows_default = false;
  bool required = false;
  std::array<std::string_view, 2> excludes = {};

  bool is_flag() const { return kind == Kind::kFlag || kind == Kind::kOff; }
  bool is_repeated() const {
    return kind == Kind::kTexts || kind == Kind::kNamedTexts || kind == Kind::kFiles;
  }
  /// "short-side", "no-shuffle"
  std::string flag() const;
};

/// The values given for an option: none for a flag, several for a repeated option, else one.
using OptionValues = std::vector<std::string>;

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

/// How an option is named in messages, perhaps with a value: "`labels=FILE`". The library's texts,
/// also those of an Error, contain such names. A front end replaces them by its own spelling,
/// "--labels FILE". Any thread.
std::string spelled(std::string_view text);
/// One name alone, as it is shown.
std::string opt(std::string_view name, std::string_view value = {});

using OptionSpelling = std::string (*)(std::string_view name, std::string_view value);
/// Says how, before threads are started. The value of a flag is "true" or "false", or empty.
void spell_options(OptionSpelling spelling);

}  // namespace packhorse
