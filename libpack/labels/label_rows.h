#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "labels/row_reader.h"

namespace packhorse {

/// The columns of a labels file, as LabelOptions has them.
struct LabelColumns {
  std::string path = {}, label = {};
  /// Like the others; kNoSplits: no column. Empty: the one called "split", if there is one.
  std::string split = kNoSplits;
  static constexpr const char* kNoSplits = "none";
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
  std::string split = {};  ///< empty if no column has it
  std::uint64_t line = 0;
};

/// Reads the lines of a labels file, of one of these kinds:
///
/// - path and label, separated by what find_separator() finds, or else by blanks: the last word is
///   the label. Cells may be quoted as in CSV.
/// - more columns than two, told by the header or by LabelColumns.
/// - `.jsonl`: an object a line.
/// - one word a line, which is a label: line 1 is for the first image, and so on.
///
/// A first line is a header when LabelColumns names a cell of it, or when a cell has one of the
/// usual names ("image_id", "label", ...). It is none when a cell is the name of an image file. A
/// column given by a number is that column, even where the first line has the number for a text.
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
  /// Whether both columns are given by their numbers, which says that no line is a header.
  bool by_numbers() const;
  /// What was taken for what, once a row has been read: "semicolons, a header, 3 columns: the path
  /// is 'Filename', the label is 'ClassId'".
  std::string description() const;
  /// With LabelColumns::kAllOthers, once a row has been read: the names of those columns.
  const std::vector<std::string>& other_names() const { return other_names_; }

 private:
  enum class Syntax { kCells, kLastWord, kWords, kJson, kNumbered };
  Syntax find_syntax();
  Syntax words_or_labels() const;
  RowReader reader() const;
  void cut_cells();
  void cut_words();
  void cut_last_word();
  void refuse_images_in_header(const std::vector<std::string>& first) const;
  [[noreturn]] void refuse_nameless(const std::vector<std::string>& first) const;
  void choose_columns(const std::vector<std::string>& first);
  std::size_t column(const std::vector<std::string>& first, const std::string& wanted);
  void choose_split(const std::vector<std::string>& first);
  std::string unused_columns() const;
  bool looks_like_header(const std::vector<std::string>& first, std::size_t path,
                         std::size_t label) const;
  bool asks_for_split() const {
    return !columns_.split.empty() && columns_.split != LabelColumns::kNoSplits;
  }
  bool by_name() const {
    return !columns_.path.empty() || !columns_.label.empty() || asks_for_split();
  }
  [[noreturn]] void ask_for_columns(const std::vector<std::string>& first) const;
  bool takes_all_others() const { return columns_.label == LabelColumns::kAllOthers; }
  void take_others(LabelRow& out) const;
  void take_members(const Row& row, LabelRow& out);
  void take_prediction(LabelRow& out) const;
  void take_split(std::string_view cell, LabelRow& out) const;
  [[noreturn]] void refuse(std::uint64_t line, const std::string& what) const;
  [[noreturn]] void refuse_split(std::uint64_t line, const std::string& what) const;

  std::filesystem::path path_;
  LabelColumns columns_;
  UniqueFd fd_;
  RowSyntax cells_syntax_ = kLines;
  Syntax syntax_;
  RowReader reader_;
  bool header_ = false, started_ = false;
  bool prediction_ = false;  ///< the label is the first word of "n01440764 1 2 3 4"
  std::size_t path_at_ = 0, label_at_ = 1, width_ = 2;
  std::optional<std::size_t> split_at_;
  Row row_;
  std::vector<std::string> cells_, header_cells_, other_names_;
  std::vector<JsonMember> members_;
};

/// Whether the first row of a CSV file, or of a `.jsonl` file, names both columns.
bool has_label_columns(const std::filesystem::path& file, std::string_view path,
                       std::string_view label);

}  // namespace packhorse
