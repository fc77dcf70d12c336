#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "packhorse/base/progress.h"

/// Prints numbers with units, tables and a progress line.
namespace packhorse::program {

bool stderr_is_terminal();

/// How to write to stdout.
struct Style {
  int width = 80;       ///< columns
  bool colour = false;  ///< escape sequences; never when NO_COLOR is set (no-color.org)
  bool blocks = false;  ///< bars of block characters, else of #
};
/// On a terminal: its width, colour, and blocks if its text is UTF-8. Otherwise plain, 80 columns.
Style stdout_style();

/// Columns for running text: $COLUMNS, or those of stdout_style().
int text_width();

enum class Paint { kPlain, kStrong, kFaint, kBar };
/// `text` in a colour, where `style` has colours.
std::string painted(const std::string& text, Paint paint, const Style& style);

/// A printable() name of at most `columns` columns; a longer one ends in "...". Counts UTF-8 by
/// characters.
std::string one_line(std::string_view name, std::size_t columns);
/// Columns that UTF-8 text takes, one for each character.
std::size_t columns_of(std::string_view text);

std::string with_commas(std::uint64_t value);                      ///< 1234567 -> "1,234,567"
std::string count_text(std::uint64_t n, const std::string& noun);  ///< "1 shard", "1,200 shards"
std::string bytes_text(std::uint64_t bytes);                       ///< "21.3 MiB"
std::string seconds_text(double seconds);                          ///< "0.42 s", "3 min 05 s"

/// Aligns columns to their widest cell: the first to the left, the others to the right. Cells go
/// through printable_text(). On a terminal that is too narrow, paths in the first column lose
/// their beginnings, "...photos/train", unless two would look alike.
std::string table_text(std::vector<std::vector<std::string>> rows);

/// Shows `progress` on stderr from a thread of its own until it is destroyed: on a terminal a line
/// that is rewritten five times a second, otherwise a new line every ten seconds. A short run
/// prints nothing unless on a terminal, and a `quiet` one nothing at all.
class ProgressLine {
 public:
  ProgressLine(const Progress& progress, std::string doing, bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

 private:
  std::string line(double seconds) const;
  void loop();

  const Progress& progress_;
  std::string doing_;
  bool terminal_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;
  std::thread thread_;  ///< none when quiet
};

/// A line on stderr that each update overwrites and that is erased in the end; shown only on a
/// terminal, and never when `quiet`.
class StatusLine {
 public:
  explicit StatusLine(bool quiet) : shown_(!quiet && stderr_is_terminal()) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  void show(const std::string& text) const;
  void clear() const { show(""); }

 private:
  bool shown_;
};

}  // namespace packhorse::program
