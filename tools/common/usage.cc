#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/choices.h"
#include "base/printable.h"
#include "base/text.h"
#include "common/checks.h"
#include "common/options.h"

namespace packhorse::program {

namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kOneOf = "Exactly 1 option from [";  // CLI11's words

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

Words names_of(const std::vector<CLI::App*>& commands) {
  Words names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

/// All names of options that the help shows.
Words option_names(const CLI::App& app) {
  Words names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

bool contains(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

/// Words the errors of one command line.
class UsageErrors {
 public:
  UsageErrors(CLI::App& app, const Words& words)
      : app_(app),
        all_(app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); })),
        words_(words) {
    const std::vector<CLI::App*> parsed = app.get_subcommands();
    command_ = parsed.empty() ? nullptr : parsed.front();
    call_ = command_ == nullptr ? app.get_name() : app.get_name() + " " + command_->get_name();
    const Words extras = (command_ == nullptr ? app : *command_).remaining();
    std::copy_if(words.begin(), words.end(), std::back_inserter(extras_),
                 [&](const std::string& word) { return contains(extras, word); });
  }

  Error of(const CLI::ParseError& error) {
    if (command_ == nullptr) return no_command();
    const auto option = std::ranges::find_if(extras_, is_option);
    if (option != extras_.end()) return no_option(option->substr(0, option->find('=')));
    if (!extras_.empty()) return too_many();
    check_values(*command_);
    const std::string missing = missing_text();
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !missing.empty())
      return usage(missing, "the command is " + shape());
    return other(error);
  }

 private:
  static Error usage(const std::string& what, const std::string& advice) {
    return {ErrorKind::kUsage, what, {}, advice};
  }

  std::string help() const { return fmt::format("`{} --help` says more", call_); }

  Error no_command() const {
    if (extras_.empty())
      return usage("a subcommand is missing",
                   fmt::format("give one of: {}; {}", fmt::join(names_of(all_), ", "), help()));
    const std::string& word = extras_.front();
    if (is_option(word)) return no_option(word.substr(0, word.find('=')));
    const auto what = fmt::format("there is no subcommand '{}'", printable(word));
    if (const std::string other = other_program(word); !other.empty()) return usage(what, other);
    if (const std::string found = having("--" + word); !found.empty()) return usage(what, found);
    return usage(what, choice_advice(word, names_of(all_)));
  }

  /// The advice to run the other of the two programs; empty when that has no such subcommand.
  std::string other_program(const std::string& word) const {
    static const Words kPacks = {"pack", "inspect", "repair", "unpack", "index", "bench"};
    static const Words kTrains = {"fit", "eval", "measure", "sweep", "predict"};
    const bool trains = app_.get_name() == "packhorse-train";
    if (!contains(trains ? kPacks : kTrains, word)) return {};
    return fmt::format("run `{} {}`; `{} --help` says more",
                       trains ? "packhorse" : "packhorse-train", word,
                       trains ? "packhorse" : "packhorse-train");
  }

  /// Which subcommand has the option; empty when none has.
  std::string having(const std::string& option) const {
    for (const CLI::App* command : all_) {
      if (contains(option_names(*command), option))
        return fmt::format("`{} {}` has the option {}", app_.get_name(), command->get_name(),
                           option);
    }
    return {};
  }

  Error no_option(const std::string& word) const {
    const CLI::App& app = command_ == nullptr ? app_ : *command_;
    const std::string meant = nearest(word, option_names(app));
    const std::string elsewhere = having(word);
    return usage(fmt::format("`{}` has no option '{}'", call_, printable(word)),
                 !meant.empty()       ? fmt::format("did you mean {}? {}", meant, help())
                 : !elsewhere.empty() ? elsewhere
                                      : fmt::format("`{} --help` lists its options", call_));
  }

  /// "packhorse pack SOURCE OUT --format FORMAT"
  std::string shape() const {
    std::string text = call_;
    for (const bool positional : {true, false}) {
      for (const CLI::Option* option : command_->get_options()) {
        if (option->get_positional() != positional || !option->get_required()) continue;
        const std::string name = option->get_name();
        text += " " + (positional ? upper_case(name)
                                  : name + " " + upper_case(option->get_lnames().front()));
      }
    }
    return "`" + text + "`";
  }

  std::string missing_text() const {
    Words missing;
    for (const CLI::Option* option : command_->get_options()) {
      if (!option->get_required() || option->count() > 0) continue;
      const std::string name = option->get_name();
      missing.push_back(option->get_positional() ? upper_case(name) : name);
    }
    if (missing.empty()) return {};
    return fmt::format("{} {} missing", fmt::join(missing, ", "),
                       missing.size() == 1 ? "is" : "are");
  }

  /// The pattern that a shell has expanded into names of tar files; empty when it has not.
  std::string expanded_pattern() const {
    Words tars;
    for (const CLI::Option* option : command_->get_options()) {
      if (!option->get_positional()) continue;
      std::copy(option->results().begin(), option->results().end(), std::back_inserter(tars));
    }
    std::copy(extras_.begin(), extras_.end(), std::back_inserter(tars));
    std::erase_if(tars, [](const std::string& word) { return !word.ends_with(".tar"); });
    if (tars.size() < 2) return {};
    std::string common = tars.front().substr(0, tars.front().size() - 4);
    for (const std::string& tar : tars) {
      const auto [end, other] = std::mismatch(common.begin(), common.end(), tar.begin(), tar.end());
      common.erase(end, common.end());
    }
    return common + "*.tar";
  }

  Error too_many() const {
    const std::string first = printable(extras_.front());
    if (const std::string pattern = expanded_pattern(); !pattern.empty())
      return usage(
          fmt::format("too many arguments from '{}' on: the shell has expanded a pattern", first),
          fmt::format("quote it, so that packhorse sees the pattern itself: \"{}\"",
                      printable(pattern)));
    for (const CLI::Option* option : command_->get_options()) {
      if (!option->get_required() || option->get_positional() || option->count() > 0) continue;
      return usage(fmt::format("'{}' stands without the name of its option", first),
                   fmt::format("did you mean {} {}? {}", option->get_name(), first, help()));
    }
    return usage(fmt::format("'{}' is one argument too many", first),
                 fmt::format("the command is {}; quote a name that has spaces in it", shape()));
  }

  Error other(const CLI::ParseError& error) const {
    const std::string text = error.what();
    const std::string name = text.substr(0, text.find(':'));
    if (const std::size_t at = text.find(kAdviceFollows); at != std::string::npos)
      return usage(text.substr(0, at), text.substr(at + 1));
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr &&
        text.ends_with(" missing")) {
      return usage(name + " needs a value", help());
    }
    if (const std::size_t at = text.find(kOneOf);
        at != text.npos && text.ends_with("] is required"))
      return usage("give exactly one of " +
                       text.substr(at + kOneOf.size(), text.find(']') - at - kOneOf.size()),
                   help());
    if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
      return usage(text, "give a number");
    if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr)
      return usage(text, "give only one of the two");
    if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr)
      return usage(text, "give both, or neither");
    return usage(text, help());
  }

  CLI::App& app_;
  const std::vector<CLI::App*> all_;
  const Words& words_;
  CLI::App* command_ = nullptr;  ///< null: none was recognised
  std::string call_;             ///< "packhorse pack"
  Words extras_;                 ///< not understood, in the order typed
};

/// CLI11 takes -1 for an unsigned number and wraps it around, reads 010 as octal, and takes a
/// number that is too large for the largest there is.
template <class Number>
bool is_decimal(const std::string& text) {
  const auto number = parse_number<Number>(text);
  return number && std::to_string(*number) == text;
}

void check_value(const CLI::Option& option, const std::string& value) {
  if (value.empty() && option.get_expected_min() > 0) {  // 0: it needs no value
    if (option.get_positional())
      throw Error(ErrorKind::kUsage, upper_case(option.get_name()) + " is empty", {},
                  "give a path");
    throw Error(ErrorKind::kUsage, "the value of " + option.get_name() + " is empty", {},
                "give a value, or leave the option out");
  }
  const std::string type = option.get_type_name();
  const auto refuse = [&](const char* advice) {
    throw Error(ErrorKind::kUsage, "'" + value + "' is not a valid value for " + option.get_name(),
                {}, advice);
  };
  if (type.starts_with("UINT") && !is_decimal<std::uint64_t>(value))
    refuse("give a whole number, 0 or larger, in decimal digits");
  if (type.starts_with("INT") && !is_decimal<std::int64_t>(value))
    refuse("give a whole number, in decimal digits");
}

}  // namespace

Error usage_error(CLI::App& app, const CLI::ParseError& error, const Words& words) try {
  return UsageErrors(app, words).of(error);
} catch (const Error& value) {  // from check_values()
  return value;
}

void check_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& value : option->results()) check_value(*option, value);
}

}  // namespace packhorse::program
