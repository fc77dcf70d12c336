#include "help/help_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <sstream>
#include <utility>
#include <vector>

#include "help/command_tree.h"

namespace packhorse::help {

namespace {

using CLI::AppFormatMode;

/// Where the texts of options begin, and how wide they are at most.
constexpr std::size_t kColumn = 30, kLeast = 60, kMost = 100;

/// The words of a line in lines of at most `width` columns, all but the first behind `indent`.
std::string filled_line(const std::string& line, std::size_t width, const std::string& indent) {
  std::string text, word;
  std::size_t at = 0;
  const std::size_t lead = std::min(line.find_first_not_of(' '), line.size());
  std::istringstream words(line);
  const std::string hanging = indent + std::string(lead == 0 ? 0 : lead + 2, ' ');
  text = std::string(lead, ' ');
  at = lead;
  for (bool first = true; words >> word; first = false) {
    const std::size_t columns = word.size();
    if (!first && at + 1 + columns > width) {
      text += "\n" + hanging;
      at = hanging.size() - indent.size();
    } else if (!first) {
      text += " ";
      ++at;
    }
    text += word;
    at += columns;
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// "TEXT" and "32 to 1024" of "TEXT:INT in [32 - 1024]".
struct TypeName {
  std::string type, range;

  explicit TypeName(const std::string& name) : type(name) {
    static const std::regex kChecked(
        R"(([A-Z]+[^:{]*):(\{.*\}|POSITIVE|NONNEGATIVE|\w+ in \[(\S+) - (\S+)\]))");
    std::smatch parts;
    if (!std::regex_match(name, parts, kChecked)) return;
    const std::string check = parts[2];
    type = check.front() == '{' ? check : parts[1].str();
    if (parts[3].matched) range = fmt::format("{} to {}", parts[3].str(), parts[4].str());
  }
};

/// A text that lists choices, a line each ("  webp: as WebP"), with their names alone.
std::string without_lines(const std::string& text) {
  std::string made, names;
  std::size_t end = 0;  // of the line before the choices
  for (const std::string& line : lines_of(text)) {
    if (!line.starts_with("  ")) {
      made += (made.empty() ? "" : "\n") + line;
      if (names.empty()) end = made.size();
    } else if (!line.starts_with("   ")) {
      names += (names.empty() ? " " : ", ") + line.substr(2, line.find(": ") - 2);
    }
  }
  return made.insert(end, names);
}

std::vector<std::string> names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  std::ranges::sort(names);
  return names;
}

}  // namespace

HelpText::HelpText(int width)
    : width_(std::clamp(static_cast<std::size_t>(std::max(width, 0)), kLeast, kMost)) {
  column_width(kColumn);
}

std::string HelpText::make_option_opts(const CLI::Option* option) const {
  std::string text;
  if (option->get_type_size() != 0 && option->get_items_expected_max() != 0) {
    if (option->nonpositional()) text = " " + TypeName(option->get_type_name()).type;
    if (!option->get_default_str().empty()) text += "=" + option->get_default_str();
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
  }
  return text;
}

std::string HelpText::make_option_desc(const CLI::Option* option) const {
  std::vector<std::string> notes;
  if (option->get_required() && option->nonpositional()) notes.emplace_back("required");
  if (const std::string range = TypeName(option->get_type_name()).range; !range.empty())
    notes.push_back(range);
  if (!option->get_needs().empty())
    notes.push_back(fmt::format("needs {}", fmt::join(names_of(option->get_needs()), ", ")));
  if (!option->get_excludes().empty())
    notes.push_back(fmt::format("not with {}", fmt::join(names_of(option->get_excludes()), ", ")));
  std::string text = option->get_description();
  if (notes.empty()) return text;
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::size_t at = end > 0 && text[end - 1] == ':' ? end - 1 : end;
  return text.insert(at, fmt::format(" ({})", fmt::join(notes, "; ")));
}

std::string HelpText::entry(const std::string& head, const std::string& text) const {
  const std::string indent(kColumn, ' ');
  std::string made = "  " + head;
  if (text.empty()) return made + "\n";
  made += made.size() + 2 <= kColumn ? std::string(kColumn - made.size(), ' ') : "\n" + indent;
  std::string between;
  for (const std::string& line : lines_of(text)) {
    made += between + filled_line(line, width_ - kColumn, indent);
    between = "\n" + indent;
  }
  return made + "\n";
}

std::string HelpText::make_option_name(const CLI::Option* option, bool is_positional) const {
  std::string name = CLI::detail::find_and_replace(
      Formatter::make_option_name(option, is_positional), "{false}", "");
  if (is_positional)
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

std::string HelpText::make_option(const CLI::Option* option, bool is_positional) const {
  return entry(make_option_name(option, is_positional) + make_option_opts(option),
               make_option_desc(option));
}

std::string HelpText::usual_options(const CLI::App& app) const {
  const CommandHelp command = command_help(app);
  std::string text = "\nOptions:\n";
  std::vector<std::string> others;
  std::set<std::string> all;  // parts of a command have --help, too
  std::size_t usual = 0;
  for (const OptionHelp& help : command.options) {
    const bool asks = help.option == app.get_help_ptr() || help.option == app.get_help_all_ptr();
    all.insert(help.option->get_name());
    if (usual_.contains(help.option)) ++usual;
    if (asks || usual_.contains(help.option)) {
      text += entry(make_option_name(help.option, false) + make_option_opts(help.option),
                    without_lines(make_option_desc(help.option)));
    } else if (help.group != "Options" && std::ranges::find(others, help.group) == others.end()) {
      others.push_back(help.group);
    }
  }
  if (usual == 0) return {};
  return text + "\n" +
         filled_line(fmt::format("--help-all shows all {} options, also those under: {}.",
                                 all.size(), fmt::join(others, ", ")),
                     width_, {}) +
         "\n";
}

std::string HelpText::make_help(const CLI::App* app, std::string name, AppFormatMode mode) const {
  if (mode == AppFormatMode::Sub) return make_expanded(app);
  std::string options = mode == AppFormatMode::Normal ? usual_options(*app) : "";
  if (options.empty()) {
    options = make_groups(app, mode) + make_subcommands(app, mode);
    options = CLI::detail::find_and_replace(options, "\n\n\n", "\n\n");
  }
  return make_description(app) + make_usage(app, std::move(name)) + make_positionals(app) +
         options + '\n' + make_footer(app);
}

std::string HelpText::make_expanded(const CLI::App* sub) const {
  if (!sub->get_name().empty()) return Formatter::make_expanded(sub);
  const std::string options = make_positionals(sub) + make_groups(sub, AppFormatMode::Sub);
  return "\n" + make_description(sub) + options.substr(options.find('\n', 1) + 1);
}

std::string HelpText::make_subcommand(const CLI::App* sub) const {
  return entry(sub->get_name(), sub->get_description());
}

std::string HelpText::make_footer(const CLI::App* app) const {
  std::string text, paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) text += filled_line(paragraph, width_, {}) + "\n";
    paragraph.clear();
  };
  for (const std::string& line : lines_of(app->get_footer())) {
    const bool fixed = line.empty() || line.starts_with(' ') || line.ends_with(':');
    if (fixed) end_paragraph();
    if (fixed) {
      text += line + "\n";
    } else {
      paragraph += (paragraph.empty() ? "" : " ") + line;
    }
  }
  end_paragraph();
  return text;
}

void show_as_usual(const CLI::App& app, std::initializer_list<const char*> names) {
  auto* const text = dynamic_cast<HelpText*>(app.get_formatter().get());
  for (const char* const name : names)
    if (text != nullptr) text->usual_.insert(app.get_option(name));
}

}  // namespace packhorse::help
