#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "packhorse/progress.h"

/// What people see: numbers with units, tables, and a progress line.
namespace packhorse::program {

bool stderr_is_terminal();

std::string with_commas(std::uint64_t value);                      ///< 1234567 -> "1,234,567"
std::string count_text(std::uint64_t n, const std::string& noun);  ///< "1 shard", "1,200 shards"
std::string bytes_text(std::uint64_t bytes);                       ///< "21.3 MiB"
std::string seconds_text(double seconds);                          ///< "0.42 s", "3 min 05 s"

/// Parses "256MiB", "1GB", "4096". Throws Error(kUsage).
std::uint64_t parse_bytes(const std::string& text);

/// Columns aligned to their widest cell: the first to the left, the others to the right.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

/// Shows `progress` on stderr from a thread of its own until it is destroyed: a line that is
/// rewritten five times a second on a terminal, else a new line every ten seconds. Short runs on no
/// terminal print nothing.
class ProgressLine {
 public:
  ProgressLine(const Progress& progress, std::string doing);
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
  std::thread thread_;
};

}  // namespace packhorse::program
