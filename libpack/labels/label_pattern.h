#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "packhorse/base/reason.h"

namespace packhorse {

/// Finds the class in an image's name: "^(.+)_\d+\.jpg$" makes "great_dane_12.jpg" a "great_dane".
/// The class is what the group "class" matches, or else the first group. A pattern with a slash is
/// matched against the path in the source, any other against the file name; bytes are compared, in
/// the given case.
///
/// Written for PCRE2, which bounds the steps and the memory of a match: std::regex does not, and
/// POSIX has no \d. One thread.
class LabelPattern {
 public:
  /// Throws Error(kUsage), with the place, for a pattern that is none, is longer than 1,000
  /// characters or has no group.
  explicit LabelPattern(const std::string& pattern);
  ~LabelPattern();

  /// The class; or nothing, and in `problem` why not. Throws Error(kUsage) for a match beyond the
  /// limits.
  std::optional<std::string> label(std::string_view path, Problem& problem) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace packhorse
