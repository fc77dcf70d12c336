#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "packhorse/base/error.h"

namespace packhorse {

inline constexpr const char* kLineEndAdvice = "convert the line ends: dos2unix or mac2unix";

/// The lines of a text that people write, without a byte order mark and without their ends, LF or
/// CR LF.
///
///     TextLines lines(text, path);
///     for (std::string_view line; lines.next(line);) use(lines.number(), line);
class TextLines {
 public:
  /// `path` is for messages.
  explicit TextLines(std::string_view text, std::filesystem::path path = {})
      : rest_(without_byte_order_mark(text)), path_(std::move(path)) {}

  /// False at the end. Throws Error(kUsage) for a CR that ends no line: as one line, several would
  /// be lost.
  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    ++number_;
    line = rest_.substr(0, rest_.find('\n'));
    rest_.remove_prefix(std::min(line.size() + 1, rest_.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find('\r') != std::string_view::npos)
      throw Error(ErrorKind::kUsage,
                  "line " + std::to_string(number_) + " has a carriage return that ends no line",
                  path_, kLineEndAdvice);
    return true;
  }
  std::size_t number() const { return number_; }  ///< of the line, from 1

 private:
  std::string_view rest_;
  std::filesystem::path path_;
  std::size_t number_ = 0;
};

}  // namespace packhorse
