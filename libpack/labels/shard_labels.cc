#include "labels/shard_labels.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/printable.h"
#include "base/text.h"
#include "labels/label_names.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kLongestLabel = 255;
constexpr std::int64_t kMostClasses = 1
                                      << 20;  // without a class list: one wrong number is no class

ShardLabel checked(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {{}, {Reason::kBadLabel, "its label is empty"}};
  text = text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
  const bool control = std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (control || text.size() > kLongestLabel || !is_utf8(text)) return {{}, Reason::kBadLabel};
  return {std::string(text), {}};
}

void refuse_lookalikes(const std::vector<std::string>& names) {
  const auto found = lookalikes_in(names);
  if (!found) return;
  throw Error(ErrorKind::kUsage,
              "the classes '" + printable(names[found->first]) + "' and '" +
                  printable(names[found->second]) +
                  "' differ only in letter case or in their Unicode form",
              {}, kLookalikeAdvice);
}

}  // namespace

ShardLabel label_in_cls(std::string_view content) {
  return checked(without_byte_order_mark(content));
}

std::optional<ShardLabel> label_in_json(std::string_view content) try {
  const auto json = parse_json(content);
  if (!json.is_object()) return std::nullopt;
  for (const char* name : {"label", "cls"}) {
    const auto member = json.find(name);
    if (member == json.end()) continue;
    if (member->is_number_integer()) return checked(member->dump());
    if (member->is_string()) return checked(member->get_ref<const std::string&>());
    return ShardLabel{
        {}, {Reason::kBadLabel, "the label in its .json is neither a whole number nor text"}};
  }
  return std::nullopt;
} catch (const Error& error) {
  if (error.kind() == ErrorKind::kCorrupt)
    return ShardLabel{{}, {Reason::kBadLabel, "its .json is no JSON"}};
  return ShardLabel{{}, {Reason::kBadLabel, "its .json is " + std::string(error.what())}};
}

std::optional<std::int64_t> label_among(
    const std::string& text, const std::unordered_map<std::string, std::int64_t>& classes) {
  if (const auto value = parse_number<std::int64_t>(text)) {
    const bool there = *value >= 0 && *value < static_cast<std::int64_t>(classes.size());
    return there ? value : std::nullopt;
  }
  const auto found = classes.find(text);
  return found != classes.end() ? std::optional(found->second) : std::nullopt;
}

std::int64_t ShardLabels::number_of(const std::string& text) {
  const auto [it, fresh] = numbers_.emplace(text, static_cast<std::int64_t>(texts_.size()));
  if (fresh) texts_.push_back(text);
  return it->second;
}

std::vector<std::string> ShardLabels::make_classes(const std::vector<std::string>& given,
                                                   std::vector<std::string>& notes) {
  std::vector<std::string> classes = given;
  std::int64_t highest = -1;
  const std::string* some_number = nullptr;
  std::set<std::string> names;
  std::set<std::int64_t> occurring;
  for (const std::string& text : texts_) {
    if (const auto value = parse_number<std::int64_t>(text)) {
      some_number = &text;
      if (*value < 0 || *value >= kMostClasses) continue;
      highest = std::max(highest, *value);
      occurring.insert(*value);
    } else {
      names.insert(text);
    }
  }
  if (given.empty() && some_number != nullptr && !names.empty()) {
    throw Error(ErrorKind::kUsage,
                "some labels are numbers and some are names: '" + *some_number + "' and '" +
                    *names.begin() + "'",
                {}, "list the classes with `classes=FILE`");
  }
  if (given.empty()) {
    classes.assign(names.begin(), names.end());
    refuse_lookalikes(classes);
  }
  if (given.empty() && names.empty()) {
    for (std::int64_t i = 0; i <= highest; ++i) classes.push_back(std::to_string(i));
    if (const auto note = note_sparse(classes.size(), occurring.size())) notes.push_back(*note);
  }
  const auto labels = naming::labels_of(classes);
  for (const std::string& text : texts_) {
    Resolved& resolved = resolved_.emplace_back();
    resolved.label = label_among(text, labels).value_or(-1);
    if (resolved.label < 0)
      resolved.problem = {Reason::kBadLabel,
                          text.starts_with('-') && parse_number<std::int64_t>(text)
                              ? "its label " + text + " is negative, which is no class"
                              : "its label '" + printable(text) + "' is none of the " +
                                    std::to_string(classes.size()) + " classes"};
  }
  return classes;
}

}  // namespace packhorse
