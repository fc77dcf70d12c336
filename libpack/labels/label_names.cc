#include "labels/label_names.h"

#include <algorithm>
#include <charconv>

#include "packhorse/base/printable.h"

namespace packhorse {

namespace {

/// A number beyond this is no label, but an identifier or a mistake: a class is made for each
/// number below the largest one.
constexpr std::int64_t kLargestUnnamed = 1'000'000;

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return std::to_string(value) == text ? std::optional(value) : std::nullopt;
}

/// Unpacking makes a folder of each class name.
bool leads_out(std::string_view name) {
  const std::string inside = '/' + std::string(name) + '/';
  return name.starts_with('/') || inside.find("/../") != std::string::npos || name == ".";
}

}  // namespace

LabelNames::LabelNames(std::vector<std::string> classes)
    : classes_(std::move(classes)), pinned_(!classes_.empty()) {
  for (const std::string& name : classes_)
    labels_.emplace(name, static_cast<std::int64_t>(labels_.size()));
}

void LabelNames::add(std::string_view text) {
  if (pinned_ || text.empty() || leads_out(text) || labels_.contains(text)) return;
  labels_.emplace(text, 0);
  all_integers_ = all_integers_ && integer(text).has_value();
}

void LabelNames::finish() {
  if (pinned_) return;
  if (!all_integers_) {
    for (auto& [name, label] : labels_) {
      label = static_cast<std::int64_t>(classes_.size());
      classes_.push_back(name);
    }
    return;
  }
  std::int64_t largest = -1;
  for (const auto& [text, label] : labels_) {
    const std::int64_t value = *integer(text);
    if (value <= kLargestUnnamed) largest = std::max(largest, value);
  }
  labels_.clear();
  for (std::int64_t label = 0; label <= largest; ++label) {
    classes_.push_back(std::to_string(label));
    labels_.emplace(classes_.back(), label);
  }
}

void LabelNames::refuse_places_among_integers() {
  places_ = !std::all_of(classes_.begin(), classes_.end(),
                         [](const std::string& name) { return integer(name).has_value(); });
}

std::optional<std::int64_t> LabelNames::label(std::string_view text, std::string& reason) const {
  if (const auto found = labels_.find(text); found != labels_.end()) return found->second;
  const std::optional<std::int64_t> value = integer(text);
  if (text.empty()) {
    reason = "no label";
  } else if (leads_out(text)) {
    reason = "the class '" + printable(text) + "' cannot be the name of a folder, which it becomes";
  } else if (value && *value < 0) {
    reason = "the label " + printable(text) + " is negative";
  } else if (value && pinned_ && places_) {
    if (*value < static_cast<std::int64_t>(classes_.size())) return value;
    reason = "the label " + printable(text) + " is beyond the class list, which has " +
             std::to_string(classes_.size());
  } else if (pinned_) {
    reason = "the class '" + printable(text) + "' is not in the class list";
  } else {
    reason = "the label " + printable(text) + " is larger than " + std::to_string(kLargestUnnamed) +
             ", and no class list names it";
  }
  return std::nullopt;
}

}  // namespace packhorse
