#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "checking/rules.h"

namespace packhorse {

/// Counts findings, and keeps the first examples of each by path: the same for any number of
/// threads. Thread-safe.
class FindingLog {
 public:
  /// `options` must outlive it. Opens the baseline: throws as that does.
  explicit FindingLog(const CheckOptions& options);

  /// Whether findings of this rule are wanted. That a source cannot be read at all always is.
  bool wants(const CheckRule& rule) const;
  void add(const CheckRule& rule, std::string path, std::string detail = {});
  void add(std::string_view code, std::string path, std::string detail = {}) {
    add(check_rule(code), std::move(path), std::move(detail));
  }
  /// The most severe first, then by code. To be called once.
  std::vector<CheckFinding> findings();
  std::uint64_t known() const { return known_; }

 private:
  void keep_first(std::vector<CheckFinding::Example>& examples) const;
  const CheckOptions& options_;
  std::unordered_set<std::string> baseline_;
  std::mutex mutex_;
  std::uint64_t known_ = 0;
  std::map<std::string_view, CheckFinding> by_code_;
};

}  // namespace packhorse
