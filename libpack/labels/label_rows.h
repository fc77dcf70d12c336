#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "labels/json_members.h"
#include "labels/row_reader.h"
#include "packhorse/base/file.h"

namespace packhorse {

/// The columns of a labels file, as LabelOptions has them.
struct LabelColumns {
  std::string path, label;
  /// For tables that say more of an image than one label: cells may be empty, or JSON lists in a
  /// `.jsonl`; the first column is the path if none has a usual name; and the label "*" stands for
  /// all other columns, whose cells then come separated by tabs, as the header's names do.
  bool several = false;
  bool one_line = false;  ///< line breaks in a label become blanks
  static constexpr std::string_view kAllOthers = "*";
};

/// A line of a labels file.
struct LabelRow {
  std::string path, label;
  std::uint64_t line = 0;
};

/// Reads the lines of a labels file, of one of these kinds:
///
/// - path and label, separated by a tab, a comma or a space: the first of these that every line
///   has. With commas, cells may be quoted as in CSV; with a space, the last word is the label.
/// - more columns than two, told by the header or by LabelColumns.
/// - `.jsonl`: an object a line.
/// - one word a line, which is a label: line 1 is for the first image, and so on.
///
/// A first line is a header when LabelColumns names a cell of it, or when a cell has one of the
/// usual names ("image_id", "label", ...) and none is the name of an image file.
///
/// Memory: one row. Throws Error(kUsage), naming the line, for a line without path or label, and
/// where the columns are not clear.
class LabelRows {
 public:
  LabelRows(std::filesystem::path path, LabelColumns columns);
  bool next(LabelRow& row);
  /// Whether rows have labels alone.
  bool numbered() const { return syntax_ == Syntax::kNumbered; }
  bool has_header() const { return header_; }
  /// With LabelColumns::kAllOthers, once a row has been read: the names of those columns.
  const std::vector<std::string>& other_names() const { return other_names_; }

 private:
  enum class Syntax { kTabs, kCommas, kLastWord, kWords, kJson, kNumbered };
  Syntax find_syntax() const;
  RowReader reader() const;
  void cut(const Row& row, std::vector<std::string>& cells) const;
  void choose_columns(const std::vector<std::string>& first);
  std::size_t named(const std::vector<std::string>& first, const std::string& column, bool& header);
  [[noreturn]] void ask_for_columns(const std::vector<std::string>& first) const;
  bool takes_all_others() const { return columns_.label == LabelColumns::kAllOthers; }
  void take_others(LabelRow& out) const;
  void take_members(const Row& row, LabelRow& out);
  void take_prediction(LabelRow& out) const;
  [[noreturn]] void refuse(std::uint64_t line, const std::string& what) const;

  std::filesystem::path path_;
  LabelColumns columns_;
  UniqueFd fd_;
  Syntax syntax_;
  RowReader reader_;
  bool header_ = false, started_ = false;
  bool prediction_ = false;  ///< the label is the first word of "n01440764 1 2 3 4"
  std::size_t path_at_ = 0, label_at_ = 1, width_ = 2;
  Row row_;
  std::vector<std::string> cells_, other_names_;
  std::vector<JsonMember> members_;
};

/// Whether the first row of a CSV file, or of a `.jsonl` file, names both columns.
bool has_label_columns(const std::filesystem::path& file, std::string_view path,
                       std::string_view label);

}  // namespace packhorse
