#include "labels/row_reader.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/file.h"
#include "base/json.h"
#include "base/json_slices.h"
#include "base/stop.h"
#include "base/text.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kLongestRow = 64u << 20;
constexpr std::size_t kMostCells = 65'536;
constexpr const char* kNoTableAdvice = "check that the file is a table, with line ends";
constexpr const char* kQuoteAdvice = "inside quotes, write each quote twice (RFC 4180)";

}  // namespace

RowReader::RowReader(int fd, std::filesystem::path path, RowSyntax syntax, std::uint64_t offset,
                     std::size_t read_bytes)
    : fd_(fd),
      path_(std::move(path)),
      syntax_(syntax),
      // No more than the file has: most lists are small, and are read again for single rows.
      read_bytes_(std::min(read_bytes, std::size_t{file_size(fd, path_)} + 1)),
      offset_(offset) {
  if (offset == 0 && has(kByteOrderMark.size() - 1) && buffer_.starts_with(kByteOrderMark))
    begin_ = kByteOrderMark.size();
}

bool RowReader::next(Row& row) {
  obey_stop();
  if (begin_ >= read_bytes_) {
    buffer_.erase(0, begin_);
    offset_ += begin_;
    begin_ = 0;
  }
  while (line_break(begin_)) {
    begin_ += buffer_[begin_] == '\r' ? 2u : 1u;
    ++line_;
  }
  if (!has(begin_)) return false;
  row.offset = offset_ + begin_;
  row.line = line_;
  std::size_t at = begin_;
  for (std::size_t cells = 0;; ++at) {
    if (cells == kMostCells) refuse("has more than 65,536 cells", kNoTableAdvice);
    if (row.cells.size() <= cells) row.cells.emplace_back();
    std::string& cell = row.cells[cells++];
    at = read_cell(at, cell);
    if (!has(at) || buffer_[at] == '\n') {
      row.cells.resize(cells);
      break;
    }
  }
  if (has(at)) ++at;
  const std::string_view text = std::string_view(buffer_).substr(begin_, at - begin_);
  line_ += static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
  begin_ = at;
  return true;
}

bool RowReader::has(std::size_t at) {
  while (at >= buffer_.size()) {
    if (!load()) return false;
  }
  return true;
}

bool RowReader::line_break(std::size_t at) {
  if (!has(at)) return false;
  return buffer_[at] == '\n' || (buffer_[at] == '\r' && has(at + 1) && buffer_[at + 1] == '\n');
}

bool RowReader::blank(std::size_t at) {
  return has(at) && (buffer_[at] == ' ' || (buffer_[at] == '\t' && syntax_.separator != '\t'));
}

bool RowReader::load() {
  obey_stop();
  if (at_end_) return false;
  if (buffer_.size() - begin_ > kLongestRow) refuse("is longer than 64 MiB", kNoTableAdvice);
  const std::size_t had = buffer_.size();
  buffer_.resize(had + read_bytes_);
  const ssize_t n = uninterrupted([&] {
    return ::pread(fd_, buffer_.data() + had, read_bytes_, static_cast<off_t>(offset_ + had));
  });
  buffer_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  if (n < 0) throw_errno("read", path_);
  at_end_ = n == 0;
  return n > 0;
}

/// Where one of `wanted` is next; the buffer's end when there is none in the rest of the file.
std::size_t RowReader::find(std::string_view wanted, std::size_t from) {
  while (true) {
    const std::size_t at = buffer_.find_first_of(wanted, from);
    if (at != std::string::npos) return at;
    from = buffer_.size();
    if (!load()) return from;
  }
}

std::size_t RowReader::read_cell(std::size_t at, std::string& cell) {
  if (!syntax_.cells) return plain_cell(at, cell);
  while (blank(at)) ++at;
  if (has(at) && buffer_[at] == '"') return quoted_cell(at, cell);
  at = plain_cell(at, cell);
  cell.erase(cell.find_last_not_of(" \t") + 1);
  return at;
}

std::size_t RowReader::plain_cell(std::size_t at, std::string& cell) {
  const std::size_t end = find(std::array{syntax_.separator, '\n', '\0'}.data(), at);
  cell.assign(buffer_, at, end - at);
  if ((!has(end) || buffer_[end] == '\n') && cell.ends_with('\r')) cell.pop_back();
  if (cell.find('\r') != std::string::npos)
    refuse("has a carriage return that ends no line", kLineEndAdvice);
  return end;
}

std::size_t RowReader::quoted_cell(std::size_t at, std::string& cell) {
  cell.clear();
  for (++at;; ++at) {
    const std::size_t quote = find("\"", at);
    if (!has(quote)) refuse("opens a quote that is never closed", kQuoteAdvice);
    cell.append(buffer_, at, quote - at);
    at = quote + 1;
    if (!has(at) || buffer_[at] != '"') break;
    cell += '"';
  }
  while (blank(at)) ++at;
  if (has(at) && buffer_[at] == '\r' && (!has(at + 1) || buffer_[at + 1] == '\n')) ++at;
  if (has(at) && buffer_[at] != '\n' && buffer_[at] != syntax_.separator)
    refuse("has text after a closing quote", kQuoteAdvice);
  return at;
}

void RowReader::refuse(const std::string& what, const char* advice) const {
  throw Error(ErrorKind::kUsage, "the row of line " + std::to_string(line_) + ' ' + what, path_,
              advice);
}

std::string json_members(std::string_view line, std::vector<JsonMember>& members) {
  members.clear();
  // Reads names and values in place, and builds nothing that could be nested.
  if (!nlohmann::json::accept(line)) return "no JSON";
  if (!line.substr(line.find_first_not_of(" \t\r\n")).starts_with('{')) return "no JSON object";
  bool too_many = false;
  for_each_member(line, [&](std::string_view name, std::string_view text) {
    too_many = members.size() == JsonLimits{}.members;
    if (too_many) return false;
    JsonMember& member = members.emplace_back();
    member.name = json_characters(name);
    if (text.starts_with('"')) {
      member.text = json_characters(text);
      member.type = JsonMember::Type::kString;
    } else {
      member.text = text;
      if (text == "null") member.type = JsonMember::Type::kNull;
    }
    return true;
  });
  if (too_many) return "more than " + std::to_string(members.size()) + " members";
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (members[k].name == members[i].name) return "names '" + members[i].name + "' twice";
    }
  }
  return {};
}

}  // namespace packhorse
