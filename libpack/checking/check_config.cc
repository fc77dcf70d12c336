#include "checking/check_config.h"

#include <fmt/format.h>

#include "annotations/yaml_tree.h"
#include "base/printable.h"
#include "base/stop.h"
#include "base/text.h"
#include "packhorse/base/bytes.h"
#include "packhorse/base/error.h"
#include "packhorse/base/mapped_file.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostGlobs = 1000;

[[noreturn]] void refuse_setting(const YamlNode& node, const std::string& what) {
  throw Error(ErrorKind::kUsage, fmt::format("line {}: {}", node.line, what));
}

std::string text_in(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kText || node.is_null())
    refuse_setting(node, "a text is expected");
  return node.text;
}

/// A code, or a list of them.
void add_codes(const YamlNode& node, std::vector<std::string>& codes) {
  if (node.kind == YamlNode::Kind::kText) codes.push_back(text_in(node));
  if (node.kind == YamlNode::Kind::kMap) refuse_setting(node, "a list of codes is expected");
  for (const YamlNode& item : node.items) codes.push_back(text_in(item));
}

void take_settings(const YamlNode& node, const fs::path& folder, CheckOptions& options) {
  if (node.kind != YamlNode::Kind::kMap)
    refuse_setting(node, "check needs select, ignore, ignore_in or baseline");
  std::vector<std::string> select;
  for (const auto& [name, value] : node.members) {
    if (name == "select") {
      add_codes(value, select);
    } else if (name == "ignore") {
      add_codes(value, options.ignore);
    } else if (name == "ignore_in") {
      if (value.kind != YamlNode::Kind::kMap)
        refuse_setting(value, "ignore_in needs a list of codes for each glob");
      if (value.members.size() > kMostGlobs) refuse_setting(value, "ignore_in has too many globs");
      for (const auto& [glob, codes] : value.members)
        add_codes(codes, options.ignore_in.emplace_back(glob, std::vector<std::string>()).second);
    } else if (name == "baseline") {
      if (!options.baseline) options.baseline = folder / text_in(value);
    } else {
      refuse_setting(value,
                     "'" + printable(name) + "' is none of select, ignore, ignore_in and baseline");
    }
  }
  if (options.select.empty()) options.select = std::move(select);
}

}  // namespace

void read_check_config(const fs::path& file, CheckOptions& options) {
  const MappedFile mapped(file);
  try {
    const YamlNode all = parse_yaml(as_text(mapped.bytes()));
    for (const auto& [name, value] : all.members) {
      if (name != "check") refuse_setting(value, "'" + printable(name) + "' is not check");
      take_settings(value, file.parent_path(), options);
    }
    if (all.members.empty()) throw Error(ErrorKind::kUsage, "there is no check");
    options.validate();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    throw Error(ErrorKind::kUsage, std::string("not settings of a check: ") + error.what(), file,
                "correct them: docs/check.md has an example");
  }
}

std::string baseline_line(std::string_view code, std::string_view path) {
  return std::string(code).append(path.empty() ? "" : " ").append(path);
}

std::string baseline_text(const CheckReport& report) {
  std::string text;
  for (const CheckFinding& finding : report.findings)
    for (const CheckFinding::Example& example : finding.examples)
      text += baseline_line(finding.rule->code, example.path) + '\n';
  return text;
}

std::unordered_set<std::string> read_baseline(const fs::path& file) {
  const MappedFile mapped(file);
  std::unordered_set<std::string> known;
  TextLines lines(as_text(mapped.bytes()), file);
  for (std::string_view line; lines.next(line);) {
    obey_stop();
    if (find_check_rule(line.substr(0, line.find(' '))) == nullptr)
      throw Error(ErrorKind::kUsage,
                  fmt::format("line {} of the baseline is no code and path", lines.number()), file,
                  "remove the line, or write the baseline again");
    known.emplace(line);
  }
  return known;
}

}  // namespace packhorse
