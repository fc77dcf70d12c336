#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "labels/row_reader.h"
#include "sources/source.h"

namespace packhorse {

/// A row of a list file: `path,label[,split][,field...]`.
struct ListRow {
  std::uint64_t offset = 0;  ///< of the row in the file
  std::uint64_t line = 0;
  std::string path;                 ///< as written
  std::string label;                ///< empty: none
  std::string split;                ///< empty: none
  std::vector<std::string> fields;  ///< one for each of ListFile::fields(); empty: none
  Problem problem;                  ///< why it is not a sample; empty: it may be one
};

/// A list file; it takes memory for one row. Any thread may call `row_at` and make readers.
class ListFile {
 public:
  /// Whether the name's extension is that of a list. No other file is a list.
  static bool has_list_name(const std::filesystem::path& path);

  /// Reads the header, or in a JSON Lines file all member names. Throws Error(kUsage) when there is
  /// no column "path" or "label", a column occurs twice, a wanted field is not a column, or a
  /// column cannot be a field.
  ListFile(std::filesystem::path path, const FieldChoice& choice);

  const std::filesystem::path& path() const { return path_; }
  const std::vector<std::string>& fields() const { return fields_; }  ///< sorted
  /// "semicolons, 3 columns: label, path, split": what is taken.
  std::string description() const;

  class Reader {
   public:
    bool next(ListRow& row);

   private:
    friend class ListFile;
    Reader(const ListFile& list, std::uint64_t offset, std::size_t read_bytes);
    const ListFile& list_;
    RowReader rows_;
    Row row_;
  };
  Reader rows() const;
  /// The row that begins at `offset`. Throws Error(kIo) when there is none any more.
  ListRow row_at(std::uint64_t offset) const;

 private:
  enum : int { kIgnored = -1, kPath = 0, kLabel = 1, kSplit = 2, kFirstField = 3 };
  bool is_json() const { return !syntax_.cells; }
  std::vector<std::string> column_names();
  std::vector<std::string> header_cells();
  std::vector<std::string> member_names();
  void choose_fields(const std::vector<std::string>& columns, const FieldChoice& choice);
  int role_of(std::string_view column) const;
  void take(const Row& row, ListRow& out) const;
  void take_cells(const Row& row, ListRow& out) const;
  void take_members(const Row& row, ListRow& out) const;
  static void set(ListRow& out, int role, const std::string& text);

  std::filesystem::path path_;
  UniqueFd fd_;
  RowSyntax syntax_ = kLines;
  std::vector<std::string> fields_;
  std::map<std::string, int, std::less<>> roles_;  ///< by lower-case column name
  std::vector<int> column_roles_;                  ///< csv, tsv: by column
  std::uint64_t first_row_ = 0;                    ///< csv, tsv: the header's offset
  bool has_splits_ = false;
};

}  // namespace packhorse
