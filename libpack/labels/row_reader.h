#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace packhorse {

/// How a text file is cut into rows and cells.
struct RowSyntax {
  char separator;  ///< '\n': a row is one cell
  /// A table's cells: those in double quotes may hold anything, quotes doubled (RFC 4180); others
  /// are taken without the blanks around them. Else a cell is what is written.
  bool cells;
};
inline constexpr RowSyntax kCommas = {',', true};
inline constexpr RowSyntax kSemicolons = {';', true};
inline constexpr RowSyntax kTabs = {'\t', true};
inline constexpr RowSyntax kOneCell = {'\n', true};
inline constexpr RowSyntax kLines = {'\n', false};

struct Row {
  std::uint64_t offset = 0;  ///< where its first byte lies in the file
  std::uint64_t line = 0;    ///< the line of its first byte, from 1
  std::vector<std::string> cells;
};

/// Reads the rows of a text file one after the other, in memory of one row. Rows end with LF or
/// CR LF; empty lines are passed over, and so is a byte order mark. A quote inside a cell that does
/// not begin with one is an ordinary character; blanks before an opening quote and behind a closing
/// one count for nothing.
///
/// Written here because Debian's libcsv cannot tell where in the file a row began (which is how a
/// sample's fields are found again) and its fast-cpp-csv-parser wants the columns at compile time.
/// One thread at a time; several may read one file.
class RowReader {
 public:
  /// Begins at `offset`, where a row must begin; `read_bytes` are read at a time.
  RowReader(int fd, std::filesystem::path path, RowSyntax syntax, std::uint64_t offset = 0,
            std::size_t read_bytes = 1 << 20);
  /// False at the end of the file. Throws Error(kUsage) where nobody can tell where rows end, so
  /// that samples would be lost silently: broken quotes, a CR that ends no line, a row of more than
  /// 64 MiB or 65,536 cells.
  bool next(Row& row);

 private:
  bool load();
  bool has(std::size_t at);
  bool line_break(std::size_t at);
  bool blank(std::size_t at);
  std::size_t find(std::string_view wanted, std::size_t from);
  std::size_t read_cell(std::size_t at, std::string& cell);
  std::size_t quoted_cell(std::size_t at, std::string& cell);
  std::size_t plain_cell(std::size_t at, std::string& cell);
  [[noreturn]] void refuse(const std::string& what, const char* advice) const;

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

struct JsonMember {
  std::string name;
  std::string text;  ///< a string's characters; any other value as it is written, to the last digit
  enum class Type { kString, kNull, kOther } type = Type::kOther;
};

/// Finds the members of the JSON object in `line`, in their order. Returns why it is none, or "".
/// Values are not parsed and written again, since that would round numbers.
std::string json_members(std::string_view line, std::vector<JsonMember>& members);

}  // namespace packhorse
