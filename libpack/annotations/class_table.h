#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "labels/label_file.h"
#include "packhorse/annotations/target_options.h"
#include "packhorse/targets/class_set.h"

namespace packhorse {

/// A table that gives each image several classes, or none:
///
/// - a column of lists: "cat dog", "cat|dog", or ["cat", "dog"] in a `.jsonl`. Names are separated
///   by the first of | ; , that any of them has, or else by spaces; a cell that has only another of
///   them refuses the table. Several rows for one image count together.
/// - LabelColumns::kAllOthers: a column for each class, of 0 and 1 or -1 and 1, which say whether
///   the image has it, or of other numbers, which are scores.
///
/// Use: make() all tables of one class list, which they share.
class ClassTable {
 public:
  explicit ClassTable(const TablePlace& place);
  /// Adds the class names it has, to `names`. Throws Error(kUsage), naming the file, for cells that
  /// are no classes or no numbers.
  void add_to(LabelNames& names);
  /// Finds the classes of each text. Throws Error(kUsage) for one that is not in the class list.
  void resolve(const LabelNames& names);

  /// How cells were cut, after add_to(); empty where none was.
  const std::string& note() const { return note_; }
  LabelFile& file() { return file_; }
  const LabelFile& file() const { return file_; }
  /// By the label that file() gives an image.
  const ClassSet& classes(std::int64_t text) const { return sets_[static_cast<std::size_t>(text)]; }
  /// Its columns, where each is a class: their order is that of the class list.
  const std::vector<std::string>& columns() const { return file_.other_names(); }

 private:
  char find_separator();
  void read_lists();
  void read_columns();
  void refuse_counting() const;
  void add_columns_to(LabelNames& names) const;
  std::int32_t label_of(std::size_t text, const std::string& name, const LabelNames& names) const;
  void resolve_columns(const LabelNames& names);
  [[noreturn]] void refuse(std::size_t text, const std::string& what,
                           const std::string& advice) const;

  LabelFile file_;
  std::string note_;
  // By place in file_.labels(), one of these:
  std::vector<std::vector<std::string>> lists_;     ///< names in lists
  std::vector<std::vector<std::uint32_t>> marked_;  ///< numbers of columns() with a 1
  std::vector<std::vector<float>> scores_;          ///< one for each of columns()
  std::vector<ClassSet> sets_;
};

}  // namespace packhorse
