#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "packhorse/base/file.h"

namespace packhorse {

/// How a text file is cut into rows and cells.
struct RowSyntax {
  char separator;  ///< '\n': a row is one cell
  bool quotes;     ///< RFC 4180: a cell in double quotes may hold anything, quotes doubled
};
inline constexpr RowSyntax kCsv = {',', true};
inline constexpr RowSyntax kTsv = {'\t', false};
inline constexpr RowSyntax kLines = {'\n', false};

struct Row {
  std::uint64_t offset = 0;  ///< where its first byte lies in the file
  std::uint64_t line = 0;    ///< the line of its first byte, from 1
  std::vector<std::string> cells;
};

/// Reads the rows of a text file one after the other, in memory of one row. Rows end with LF or
/// CR LF; empty lines are passed over, and so is a byte order mark. A quote inside a cell that does
/// not begin with one is an ordinary character.
///
/// Written here because Debian's libcsv cannot tell where in the file a row began (which is how a
/// sample's fields are found again) and its fast-cpp-csv-parser wants the columns at compile time.
/// One thread at a time; several may read one file.
class RowReader {
 public:
  /// Begins at `offset`, where a row must begin; `read_bytes` are read at a time.
  RowReader(int fd, std::filesystem::path path, RowSyntax syntax, std::uint64_t offset = 0,
            std::size_t read_bytes = 1 << 20);
  /// False at the end of the file. Throws Error(kUsage) where quotes are so broken that nobody can
  /// tell where rows end: samples would be lost silently.
  bool next(Row& row);

 private:
  bool load();
  bool has(std::size_t at);
  bool line_break(std::size_t at);
  std::size_t find(char wanted, std::size_t from);
  std::size_t quoted_cell(std::size_t at, std::uint64_t line, std::string& cell);
  std::size_t plain_cell(std::size_t at, std::string& cell);
  [[noreturn]] void refuse(std::uint64_t line, const std::string& what) const;

  int fd_;
  std::filesystem::path path_;
  RowSyntax syntax_;
  std::size_t read_bytes_;
  std::string buffer_;      ///< the file's bytes from offset_ on
  std::uint64_t offset_;    ///< in the file
  std::size_t begin_ = 0;   ///< where the next row begins in the buffer
  std::uint64_t line_ = 1;  ///< the line of the next row
  bool at_end_ = false;     ///< nothing follows the buffer
};

}  // namespace packhorse
