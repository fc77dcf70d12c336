#include "common/outputs.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/paths.h"

namespace packhorse::program {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTargets[] = {"out", "to"};  ///< positionals that are not read
constexpr std::string_view kFolders[] = {"--against", "--data", "--folder", "--packed"};

bool is_any(const std::string& name, const auto& names) {
  return std::ranges::find(names, name) != std::end(names);
}

/// Other options may have a value that a folder happens to be called, such as a format's name.
bool reads_folder(const CLI::Option& option) {
  return option.get_positional() ? !is_any(option.get_name(), kTargets)
                                 : is_any(option.get_name(), kFolders);
}

/// Adds what `value` may name: "FILE", "val=FILE", "coco:FILE".
void add_named(const std::string& value, bool folders, std::vector<fs::path>& named) {
  for (std::size_t at = 0;; ++at) {
    const fs::path path = value.substr(at);
    if (folders || is_file(path)) named.push_back(path);
    at = value.find_first_of("=:,", at);
    if (at == std::string::npos) return;
  }
}

}  // namespace

CLI::Validator replaces_no_input(const CLI::App& app, const CLI::Option* output,
                                 OutputContent content) {
  const auto check = [&app, output, content](const std::string& path) {
    std::vector<fs::path> named;
    for (const CLI::Option* option : app.get_options()) {
      if (option == output) continue;
      for (const std::string& value : option->results())
        add_named(value, reads_folder(*option), named);
    }
    refuse_replacing(path, named, content);
    return std::string();
  };
  return {check, ""};
}

}  // namespace packhorse::program
