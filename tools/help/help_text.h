#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <set>
#include <string>

namespace packhorse::help {

/// What --help prints, in ASCII, in lines of at most `width` columns. Where options of a command
/// were marked with show_as_usual(), --help shows these alone, and --help-all shows all.
class HelpText : public CLI::Formatter {
 public:
  explicit HelpText(int width);

  /// " {png,webp}=png": what stands behind an option's names.
  std::string make_option_opts(const CLI::Option* option) const override;
  /// "Side of a tile, in pixels (32 to 1024; needs --sheet)"
  std::string make_option_desc(const CLI::Option* option) const override;

  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_expanded(const CLI::App* sub) const override;
  std::string make_subcommand(const CLI::App* sub) const override;
  std::string make_footer(const CLI::App* app) const override;

 private:
  friend void show_as_usual(const CLI::App& app, std::initializer_list<const char*> names);

  /// The usual options, and in words which others there are; empty where none was marked.
  std::string usual_options(const CLI::App& app) const;
  /// "  --size UINT   Width and height", with the text beside or below the head.
  std::string entry(const std::string& head, const std::string& text) const;

  const std::size_t width_;
  std::set<const CLI::Option*> usual_;
};

/// Marks options of the command, which have been declared. Nothing happens where the command's
/// formatter is another one.
void show_as_usual(const CLI::App& app, std::initializer_list<const char*> names);

}  // namespace packhorse::help
