#include "packing/added_labels.h"

#include <algorithm>

#include "packhorse/base/error.h"
#include "packhorse/base/printable.h"

namespace packhorse {

namespace {

constexpr std::int64_t kLargestUnnamed = 999'999;  // a class for each number up to the largest

[[noreturn]] void refuse(const std::string& what, const std::string& advice) {
  throw Error(ErrorKind::kUsage, what, {}, advice);
}

void check_name(std::string_view name) {
  if (name.empty()) refuse("a class name is empty", "give each class a name");
  if (name.find_first_of("\r\n") != std::string_view::npos)
    refuse("the class name '" + printable(name) + "' has a line break", "take it out");
}

}  // namespace

AddedLabels::AddedLabels(std::vector<std::string> classes)
    : pinned_(!classes.empty()), names_(std::move(classes)) {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    check_name(names_[i]);
    if (!numbers_.emplace(names_[i], static_cast<std::int64_t>(i)).second)
      refuse("the class list names '" + printable(names_[i]) + "' twice", "name each class once");
  }
}

std::int64_t AddedLabels::number(const Label& label) {
  const auto* name = std::get_if<std::string_view>(&label);
  const Kind kind = name != nullptr ? Kind::kNames : Kind::kNumbers;
  if (!pinned_ && kind_ != Kind::kNone && kind_ != kind) {
    refuse("a label is given as a class's name, another as its number",
           "give all labels in one way, or name the classes beforehand");
  }
  const std::int64_t number = name != nullptr ? of_name(*name) : of_number(std::get<0>(label));
  kind_ = kind;
  return number;
}

std::int64_t AddedLabels::of_name(std::string_view name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  if (pinned_)
    refuse("'" + printable(name) + "' is none of the classes", "add it to the class list");
  check_name(name);
  names_.emplace_back(name);
  return numbers_.emplace(name, static_cast<std::int64_t>(names_.size() - 1)).first->second;
}

std::int64_t AddedLabels::of_number(std::int64_t number) {
  const std::int64_t most =
      pinned_ ? static_cast<std::int64_t>(names_.size()) - 1 : kLargestUnnamed;
  if (number < 0 || number > most) {
    refuse("the label " + std::to_string(number) + " is not between 0 and " + std::to_string(most),
           pinned_ ? "labels are places in the class list, counted from 0"
                   : "give the class list, or labels that count classes from 0");
  }
  largest_ = std::max(largest_, number);
  return number;
}

std::string AddedLabels::class_of(std::int64_t number) const {
  const auto place = static_cast<std::size_t>(number);
  return place < names_.size() ? names_[place] : std::to_string(number);
}

std::vector<std::string> AddedLabels::finish() {
  if (pinned_) return names_;
  std::vector<std::string> classes;
  if (kind_ == Kind::kNumbers) {
    for (std::int64_t i = 0; i <= largest_; ++i) classes.push_back(std::to_string(i));
    return classes;
  }
  labels_.resize(names_.size());
  for (const auto& [name, number] : numbers_) {
    labels_[static_cast<std::size_t>(number)] = static_cast<std::int64_t>(classes.size());
    classes.push_back(name);
  }
  return classes;
}

std::int64_t AddedLabels::label(std::int64_t number) const {
  return labels_.empty() ? number : labels_.at(static_cast<std::size_t>(number));
}

}  // namespace packhorse
