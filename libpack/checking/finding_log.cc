#include "checking/finding_log.h"

#include <algorithm>
#include <tuple>

#include "checking/check_config.h"
#include "listing/names.h"

namespace packhorse {

namespace {

/// The source could not be read: nothing else was looked for, whatever is wanted.
constexpr std::string_view kNothingRead = "PH001";

bool begins_any(const std::vector<std::string>& beginnings, std::string_view code) {
  return std::ranges::any_of(beginnings, [&](const auto& one) { return code.starts_with(one); });
}

bool comes_before(const CheckFinding::Example& a, const CheckFinding::Example& b) {
  return std::tie(a.path, a.detail) < std::tie(b.path, b.detail);
}

}  // namespace

FindingLog::FindingLog(const CheckOptions& options) : options_(options) {
  if (options_.baseline && !options_.baseline->empty())
    baseline_ = read_baseline(*options.baseline);
}

bool FindingLog::wants(const CheckRule& rule) const {
  if (rule.code == kNothingRead) return true;
  return (options_.select.empty() || begins_any(options_.select, rule.code)) &&
         !begins_any(options_.ignore, rule.code);
}

void FindingLog::add(const CheckRule& rule, std::string path, std::string detail) {
  if (!wants(rule)) return;
  const bool may_go = rule.code != kNothingRead;
  for (const auto& [glob, codes] : options_.ignore_in)
    if (may_go && begins_any(codes, rule.code) && matches_any({glob}, path)) return;
  const std::scoped_lock lock(mutex_);
  if (may_go && baseline_.contains(baseline_line(rule.code, path))) {
    ++known_;
    return;
  }
  CheckFinding& finding = by_code_[rule.code];
  finding.rule = &rule;
  ++finding.count;
  finding.examples.push_back({std::move(path), std::move(detail)});
  constexpr std::size_t kSlack = 256;
  if (options_.examples > 0 && finding.examples.size() > options_.examples + kSlack)
    keep_first(finding.examples);
}

void FindingLog::keep_first(std::vector<CheckFinding::Example>& examples) const {
  std::ranges::sort(examples, comes_before);
  if (options_.examples > 0 && examples.size() > options_.examples)
    examples.resize(options_.examples);
}

std::vector<CheckFinding> FindingLog::findings() {
  std::vector<CheckFinding> all;
  for (auto& [code, finding] : by_code_) {
    keep_first(finding.examples);
    all.push_back(std::move(finding));
  }
  std::ranges::stable_sort(all, std::greater(), [](const auto& one) { return one.rule->severity; });
  return all;
}

}  // namespace packhorse
