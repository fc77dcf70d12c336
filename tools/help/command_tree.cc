#include "help/command_tree.h"

#include "base/text.h"

namespace packhorse::help {

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  const std::vector<std::string_view> parts = split_text(text, separator);
  return {parts.begin(), parts.end()};
}

/// The choices as --help shows them: "source|420 [source]", "TEXT:{quick,full}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string text = option.get_option_text();
  if (text.find('|') != std::string::npos) return split(text.substr(0, text.find(' ')), '|');
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{');
  if (begin == std::string::npos || type.back() != '}') return {};
  return split(type.substr(begin + 1, type.size() - begin - 2), ',');
}

OptionHelp::Value value_of(const CLI::Option& option, bool has_choices) {
  if (option.get_items_expected_max() == 0) return OptionHelp::Value::kNone;
  if (has_choices) return OptionHelp::Value::kChoice;
  const std::string type = option.get_type_name();
  for (const char* const number : {"INT", "UINT", "FLOAT", "SIZE"})
    if (type.starts_with(number)) return OptionHelp::Value::kNumber;
  return OptionHelp::Value::kText;
}

void add_options(const CLI::App& app, const std::string& group, CommandHelp& command) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    OptionHelp help{option, {}, group.empty() ? option->get_group() : group};
    for (const std::string& name : option->get_snames()) help.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) help.names.push_back("--" + name);
    help.choices = choices_of(*option);
    help.value = value_of(*option, !help.choices.empty());
    (option->nonpositional() ? command.options : command.positionals).push_back(std::move(help));
  }
  for (const CLI::App* part : app.get_subcommands({}))
    if (part->get_name().empty()) add_options(*part, part->get_description(), command);
}

}  // namespace

bool OptionHelp::is_repeated() const { return option->get_expected_max() > 1; }

CommandHelp command_help(const CLI::App& app) {
  CommandHelp command{&app, app.get_name(), {}, {}};
  add_options(app, {}, command);
  return command;
}

std::vector<CommandHelp> subcommands_help(const CLI::App& app) {
  std::vector<CommandHelp> commands;
  for (const CLI::App* sub : app.get_subcommands({}))
    if (!sub->get_name().empty() && !sub->get_group().empty())
      commands.push_back(command_help(*sub));
  return commands;
}

}  // namespace packhorse::help
