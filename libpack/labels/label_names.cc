#include "labels/label_names.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/printable.h"
#include "base/text.h"
#include "labels/text_file.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

/// A number beyond this is no label, but an identifier or a mistake: a class is made for each
/// number below the largest one.
constexpr std::int64_t kLargestUnnamed = 1'000'000;

std::optional<std::int64_t> integer(std::string_view text) {
  const auto value = parse_number<std::int64_t>(text);
  return value && std::to_string(*value) == text ? value : std::nullopt;
}

/// Unpacking makes a folder of each class name.
bool leads_out(std::string_view name) {
  const std::string inside = '/' + std::string(name) + '/';
  return name.starts_with('/') || inside.find("/../") != std::string::npos || name == ".";
}

constexpr std::string_view kDigits = "0123456789";

/// What to do about labels that are neither all integers nor all names.
constexpr const char* kKindAdvice =
    "write all labels as integers, or all as names; or list the classes, a name a line: "
    "`classes=FILE`, or `target_classes=FILE` for `targets=`. If the first line is a header, name "
    "its columns";

/// Whether pandas reads this cell as NaN, or writes it for one.
bool is_missing_value(std::string_view cell) {
  constexpr std::array<std::string_view, 11> kMissing = {"NaN", "nan", "None", "NULL", "null", "NA",
                                                         "N/A", "n/a", "<NA>", "#N/A", "#NA"};
  return std::find(kMissing.begin(), kMissing.end(), cell) != kMissing.end();
}

}  // namespace

void check_class_name(std::string_view name, const LabelPlace& place) {
  const auto refuse = [&](const std::string& what, const char* advice) {
    const std::string where = place.line > 0 ? "line " + std::to_string(place.line) + ": " : "";
    throw Error(ErrorKind::kUsage, where + "the class name '" + printable(name) + "' " + what,
                place.file != nullptr ? *place.file : std::filesystem::path(), advice);
  };
  const bool control = std::ranges::any_of(
      name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (!is_utf8(name)) refuse("is not UTF-8", kConvertAdvice);
  if (control) refuse("has a control character or a line break", "take it out");
  if (place.file != nullptr && without_secrets(name) != name)
    refuse("is an address, or has parameters, which may be secrets and would be published",
           "take out what follows the '?'; if the column does not hold classes, name the one that "
           "does");
}

std::optional<std::pair<std::size_t, std::size_t>> lookalikes_in(
    std::span<const std::string> names) {
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto [other, is_new] = seen.emplace(case_folded(names[i]), i);
    if (!is_new) return std::pair(other->second, i);
  }
  return std::nullopt;
}

std::optional<std::string> note_sparse(std::size_t classes, std::size_t occurring) {
  if (occurring >= classes) return std::nullopt;
  return "the labels are integers up to " + std::to_string(classes - 1) + ", so there are " +
         std::to_string(classes) + " classes, of which " + std::to_string(occurring) + " occur";
}

LabelNames::LabelNames(std::vector<std::string> classes)
    : classes_(std::move(classes)), pinned_(!classes_.empty()) {
  for (const std::string& name : classes_) {
    labels_.emplace(name, Known{static_cast<std::int64_t>(labels_.size())});
    if (named_by_number_.empty() && kind_of(name) != Kind::kName) named_by_number_ = name;
  }
}

LabelNames::Kind LabelNames::kind_of(std::string_view text) {
  if (integer(text)) return Kind::kInteger;
  if (text.find_first_not_of(kDigits) == std::string_view::npos)
    return text.starts_with('0') ? Kind::kPadded : Kind::kNumber;
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t dot = text.find('.');
  const bool digits = text.find_first_of(kDigits) != std::string_view::npos &&
                      text.find_first_not_of("0123456789.") == std::string_view::npos &&
                      text.find('.', std::min(dot, text.size() - 1) + 1) == std::string_view::npos;
  return digits ? Kind::kNumber : Kind::kName;
}

std::string_view LabelNames::words_of(Kind kind) {
  switch (kind) {
    case Kind::kInteger:
      return "the integer";
    case Kind::kPadded:
      return "the number with a leading zero";
    case Kind::kNumber:
      return "the number";
    case Kind::kName:
      return "the name";
  }
  return {};
}

/// The file's place in files_.
std::uint32_t LabelNames::number_of(const LabelPlace& place) {
  if (place.file != nullptr && files_.back() != *place.file) files_.push_back(*place.file);
  return static_cast<std::uint32_t>(files_.size() - 1);
}

void LabelNames::add(std::string_view text, const LabelPlace& place) {
  const auto known = labels_.find(text);
  const auto line = static_cast<std::uint32_t>(place.line);
  if (pinned_ && known != labels_.end() && known->second.line == 0) {
    known->second.file = number_of(place);
    known->second.line = line;
    if (kind_of(text) != Kind::kName && labels_.find(named_by_number_)->second.line == 0)
      named_by_number_ = text;
  }
  if (pinned_ || text.empty() || leads_out(text) || known != labels_.end()) return;
  check_class_name(text, place);
  const auto added = labels_.emplace(text, Known{0, number_of(place), line});
  same_length_ = same_length_ && labels_.begin()->first.size() == text.size() &&
                 labels_.rbegin()->first.size() == text.size();
  Labels::const_pointer& first = first_[static_cast<std::size_t>(kind_of(text))];
  if (first == nullptr) first = &*added.first;
}

/// " in line 3", with the file's name where the other one is elsewhere.
std::string LabelNames::place_of(const Known& known, const Known& other) const {
  if (known.line == 0) return {};
  std::string line = " in line " + std::to_string(known.line);
  if (known.file == other.file) return line;
  return line + " of '" + printable(file_of(known).filename().native()) + "'";
}

bool LabelNames::all_integers() const {
  return std::ranges::count(first_, nullptr) == kKinds - 1 &&
         first_[static_cast<std::size_t>(Kind::kInteger)] != nullptr;
}

/// Whether the texts are digits, all equally many, and some begin with a zero.
bool LabelNames::all_padded() const {
  return first_[static_cast<std::size_t>(Kind::kPadded)] != nullptr && same_length_ &&
         first_[static_cast<std::size_t>(Kind::kName)] == nullptr &&
         std::ranges::all_of(labels_, [](const auto& label) {
           return label.first.find_first_not_of(kDigits) == std::string::npos;
         });
}

void LabelNames::refuse_several_kinds() const {
  std::vector<std::size_t> kinds;
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    if (first_[kind] != nullptr) kinds.push_back(kind);
  const bool names = kinds.size() == 1 && kinds[0] == static_cast<std::size_t>(Kind::kName);
  if (kinds.empty() || names || all_integers() || all_padded()) return;
  const auto& [text, known] = *first_[kinds.front()];
  const auto cell = [&](std::size_t kind, const Known& other) {
    return std::string(words_of(static_cast<Kind>(kind))) + " '" + printable(first_[kind]->first) +
           "'" + place_of(first_[kind]->second, other);
  };
  if (kinds.size() == 1) {
    throw Error(ErrorKind::kUsage,
                "labels are integers or names, and " + cell(kinds[0], known) + " is neither",
                file_of(known), kKindAdvice);
  }
  const Known& other = first_[kinds.back()]->second;
  throw Error(ErrorKind::kUsage,
              "labels are all integers or all names, and there are " + cell(kinds.front(), other) +
                  " and " + cell(kinds.back(), known),
              file_of(other), kKindAdvice);
}

void LabelNames::refuse_lookalikes() const {
  const auto found = lookalikes_in(classes_);
  if (!found) return;
  const auto& [text, known] = *labels_.find(classes_[found->first]);
  const auto& [other, later] = *labels_.find(classes_[found->second]);
  throw Error(ErrorKind::kUsage,
              "the classes '" + printable(text) + "'" + place_of(known, later) + " and '" +
                  printable(other) + "'" + place_of(later, known) +
                  " differ only in letter case, in blanks or in their Unicode form",
              file_of(later), kLookalikeAdvice);
}

void LabelNames::refuse_missing() const {
  for (const auto& [text, known] : labels_) {
    if (known.line == 0 || !is_missing_value(text)) continue;
    throw Error(ErrorKind::kUsage,
                "the label '" + text + "'" + place_of(known, known) +
                    " may be a class, or say that there is no label",
                file_of(known),
                "give the image a label, or take its line out; if it is a class, list all classes: "
                "`classes=FILE`, or `target_classes=FILE` for `targets=`");
  }
}

/// Refuses "cat|dog" where "cat" or "dog" is a label, too.
void LabelNames::refuse_lists() const {
  for (const auto& [text, known] : labels_) {
    const std::size_t first = text.find_first_of("|;,");
    if (known.line == 0 || first == std::string::npos) continue;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(text[first], at), text.size());
      const std::string part(trimmed(std::string_view(text).substr(at, end - at)));
      at = end + 1;
      const auto single = labels_.find(part);
      if (single == labels_.end()) continue;
      throw Error(ErrorKind::kUsage,
                  "the label '" + printable(text) + "'" + place_of(known, single->second) +
                      " may be one class, or several: '" + printable(part) + "'" +
                      place_of(single->second, known) + " is a label, too",
                  file_of(known),
                  "several classes of an image are targets: `targets=classes:" +
                      printable(file_of(known).native()) +
                      "`; if it is one class, list all classes: `classes=FILE`, or "
                      "`target_classes=FILE` for `targets=`");
    }
  }
}

void LabelNames::finish() {
  if (pinned_) return;
  refuse_missing();
  refuse_several_kinds();
  if (all_integers()) return keep_integers();
  refuse_lists();
  number_names();
  refuse_lookalikes();
}

void LabelNames::number_names() {
  for (auto& [name, known] : labels_) {
    known.label = static_cast<std::int64_t>(classes_.size());
    classes_.push_back(name);
  }
  if (all_padded())
    notes_.push_back("labels with leading zeros are names, in their order: label 0 is '" +
                     classes_.front() + "', label " + std::to_string(classes_.size() - 1) +
                     " is '" + classes_.back() + "'");
}

void LabelNames::keep_integers() {
  std::int64_t largest = -1;
  std::size_t occurring = 0;
  for (const auto& [text, known] : labels_) {
    const std::int64_t value = *integer(text);
    if (value < 0 || value > kLargestUnnamed) continue;
    largest = std::max(largest, value);
    ++occurring;
  }
  labels_.clear();
  for (std::int64_t label = 0; label <= largest; ++label) {
    classes_.push_back(std::to_string(label));
    labels_.emplace(classes_.back(), Known{label});
  }
  if (const auto note = note_sparse(classes_.size(), occurring)) notes_.push_back(*note);
}

std::optional<std::int64_t> LabelNames::label(std::string_view text, Problem& problem) const {
  if (const auto found = labels_.find(text); found != labels_.end()) return found->second.label;
  const std::optional<std::int64_t> value = integer(text);
  if (text.empty()) {
    problem = {Reason::kNoLabel, "no label"};
  } else if (leads_out(text)) {
    problem = {Reason::kBadLabel, "the class '" + printable(text) +
                                      "' cannot be the name of a folder, which it becomes"};
  } else if (value && *value < 0) {
    problem = {Reason::kBadLabel, "the label " + printable(text) + " is negative"};
  } else if (value && pinned_ && named_by_number_.empty()) {
    if (*value < static_cast<std::int64_t>(classes_.size())) return value;
    problem = {Reason::kBadLabel, "the label " + printable(text) +
                                      " is beyond the class list, which has " +
                                      std::to_string(classes_.size())};
  } else if (value && pinned_) {
    const auto& [name, known] = *labels_.find(named_by_number_);
    problem = {Reason::kBadLabel, "the class list has no '" + printable(text) +
                                      "', and has a number for a name, '" + printable(name) + "'" +
                                      place_of(known, Known{}) +
                                      ", so that no integer is a place in it"};
  } else if (pinned_) {
    problem = {Reason::kBadLabel, "the class '" + printable(text) + "' is not in the class list"};
  } else {
    problem = {Reason::kBadLabel, "the label " + printable(text) + " is larger than " +
                                      std::to_string(kLargestUnnamed) +
                                      ", and no class list names it"};
  }
  return std::nullopt;
}

}  // namespace packhorse
