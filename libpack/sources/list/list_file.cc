#include "sources/list/list_file.h"

#include <algorithm>
#include <set>

#include "base/printable.h"
#include "base/text.h"
#include "labels/row_reader.h"
#include "labels/table_syntax.h"
#include "labels/text_file.h"
#include "listing/field_names.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr const char* kHeaderAdvice =
    "begin the file with a header such as path,label or path,label,split,caption; in a .jsonl "
    "file, each line is an object with these members";
constexpr std::size_t kRowBytes = 4096;  ///< bytes read at once when a single row is wanted

std::string lower_extension(const fs::path& path) { return lower_case(path.extension().string()); }

bool is_integer(std::string_view text) {
  return text.find_first_not_of("-0123456789") == std::string_view::npos;
}

}  // namespace

bool ListFile::has_list_name(const fs::path& path) {
  const std::string extension = lower_extension(path);
  return extension == ".csv" || extension == ".tsv" || extension == ".jsonl";
}

ListFile::ListFile(fs::path path, const FieldChoice& choice)
    : path_(std::move(path)), fd_(open_text(path_)) {
  const std::vector<std::string> columns = column_names();
  for (const std::string_view needed : {"path", "label"}) {
    if (std::ranges::find(columns, needed) == columns.end()) {
      std::string found;
      for (const std::string& column : columns)
        found += (found.empty() ? "" : ", ") + printable(column);
      throw Error(ErrorKind::kUsage,
                  "the list has no column '" + std::string(needed) +
                      "'; it has: " + (found.empty() ? "none" : found),
                  path_, kHeaderAdvice);
    }
  }
  choose_fields(columns, choice);
  for (const std::string& column : columns) column_roles_.push_back(role_of(column));
  has_splits_ = roles_.contains("split");
}

/// The column names in lower case: the header's cells, or the sorted members of all objects.
std::vector<std::string> ListFile::column_names() {
  return lower_extension(path_) == ".jsonl" ? member_names() : header_cells();
}

std::vector<std::string> ListFile::header_cells() {
  Row row;
  syntax_ = header_syntax(fd_.get(), path_, {"path", "label"}, row).value_or(kCommas);
  first_row_ = row.offset;
  std::vector<std::string> columns;
  for (const std::string& cell : row.cells) {
    columns.push_back(lower_case(cell));
    if (!columns.back().empty() && std::ranges::count(columns, columns.back()) > 1) {
      throw Error(ErrorKind::kUsage, "the list has two columns '" + printable(columns.back()) + "'",
                  path_, "rename one of them");
    }
  }
  return columns;
}

std::vector<std::string> ListFile::member_names() {
  RowReader reader(fd_.get(), path_, kLines);
  std::set<std::string> names;
  std::vector<JsonMember> members;
  for (Row row; reader.next(row);) {
    if (!json_members(row.cells[0], members).empty()) continue;
    for (const JsonMember& member : members) names.insert(lower_case(member.name));
  }
  return {names.begin(), names.end()};
}

std::string ListFile::description() const {
  std::string text(name_of(syntax_));
  if (!is_json()) text += ", " + columns_text(column_roles_.size());
  text += ": ";
  for (const auto& [column, role] : roles_)
    text += (text.ends_with(": ") ? "" : ", ") + printable(column);
  return text;
}

void ListFile::choose_fields(const std::vector<std::string>& columns, const FieldChoice& choice) {
  roles_ = {{"path", kPath}, {"label", kLabel}};
  std::vector<std::string> further;
  for (const std::string& column : columns) {
    if (column == "split") roles_.emplace(column, kSplit);
    if (!roles_.contains(column)) further.push_back(column);
  }
  if (choice.names) further = wanted_fields(*choice.names, further, path_);
  fields_ = checked_fields(further, path_);
  for (std::size_t f = 0; f < fields_.size(); ++f)
    roles_.emplace(fields_[f], kFirstField + static_cast<int>(f));
}

int ListFile::role_of(std::string_view column) const {
  const auto found = roles_.find(column);
  return found == roles_.end() ? static_cast<int>(kIgnored) : found->second;
}

void ListFile::set(ListRow& out, int role, const std::string& text) {
  if (role == kPath) out.path = text;
  if (role == kLabel) out.label = trimmed(text);
  if (role == kSplit) out.split = text;
  if (role >= kFirstField) out.fields[static_cast<std::size_t>(role - kFirstField)] = text;
}

void ListFile::take(const Row& row, ListRow& out) const {
  out.offset = row.offset;
  out.line = row.line;
  out.path.clear();
  out.label.clear();
  out.split.clear();
  out.problem.clear();
  out.fields.assign(fields_.size(), {});
  if (is_json()) {
    take_members(row, out);
  } else {
    take_cells(row, out);
  }
  if (!out.problem.empty()) return;
  if (out.path.empty()) {
    out.problem = {Reason::kBadRow, "no path"};
  } else if (out.path.find('\0') != std::string::npos) {
    out.problem = {Reason::kBadRow, "a zero byte in the path"};
  } else if (out.label.empty()) {
    out.problem = {Reason::kNoLabel, "no label"};
  } else if (has_splits_ && out.split.empty()) {
    out.problem = {Reason::kBadRow, "no split"};
  }
}

void ListFile::take_cells(const Row& row, ListRow& out) const {
  if (row.cells.size() != column_roles_.size()) {
    out.problem = {Reason::kBadRow, "not " + std::to_string(column_roles_.size()) +
                                        " columns but " + std::to_string(row.cells.size())};
    return;
  }
  for (std::size_t c = 0; c < row.cells.size(); ++c) set(out, column_roles_[c], row.cells[c]);
}

void ListFile::take_members(const Row& row, ListRow& out) const {
  std::vector<JsonMember> members;
  if (std::string why = json_members(row.cells[0], members); !why.empty()) {
    out.problem = {Reason::kBadRow, std::move(why)};
    return;
  }
  std::set<int> taken;
  for (const JsonMember& member : members) {
    const int role = role_of(lower_case(member.name));
    if (role == kIgnored || member.type == JsonMember::Type::kNull) continue;
    if (!taken.insert(role).second)
      out.problem = {Reason::kBadRow, "'" + lower_case(member.name) + "' twice"};
    set(out, role, member.text);
    if (member.type == JsonMember::Type::kString || role >= kFirstField) continue;
    if (role != kLabel || !is_integer(member.text)) {
      out.problem = {Reason::kBadRow, "its " + lower_case(member.name) + " is no string" +
                                          (role == kLabel ? " and no integer" : "")};
    }
  }
}

ListFile::Reader::Reader(const ListFile& list, std::uint64_t offset, std::size_t read_bytes)
    : list_(list), rows_(list.fd_.get(), list.path_, list.syntax_, offset, read_bytes) {}

bool ListFile::Reader::next(ListRow& row) {
  if (!rows_.next(row_)) return false;
  if (!list_.is_json() && row_.offset == list_.first_row_) return next(row);
  list_.take(row_, row);
  return true;
}

ListFile::Reader ListFile::rows() const { return {*this, 0, 1 << 20}; }

ListRow ListFile::row_at(std::uint64_t offset) const {
  ListRow row;
  if (!Reader(*this, offset, kRowBytes).next(row) || row.offset != offset)
    throw Error(ErrorKind::kIo, "the list has changed since it was read", path_);
  return row;
}

}  // namespace packhorse
