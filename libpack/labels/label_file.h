#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "labels/label_names.h"
#include "labels/label_rows.h"
#include "listing/names.h"

namespace packhorse {

/// ID -> class name.
using LabelIds = std::map<std::string, std::string, std::less<>>;
/// Reads lines `ID NAME`: the name is all that follows the first blank, where that comes before any
/// other separator in each line; or else two cells of a table (find_separator()). Throws
/// Error(kUsage) for a line without a name and for an id with two names.
LabelIds read_label_ids(const std::filesystem::path& path);

/// A file that says which image has which label, in place of class folders:
///
///     ILSVRC2012_val_00000001.JPEG 65
///
/// - LabelRows says how its lines are read, and LabelNames which texts are labels.
/// - An image has several names, from its path to what suffices when it is the only one: a line
///   names the images to which it is the best name. The caller decides which names there are.
/// - A line with a path that is no image's there and has no slash names the one image with that
///   file name.
/// - A line that fits an image only in another letter case or Unicode form refuses the file.
///
/// Memory: the paths and 24 bytes per line, and once more the paths of lines that fit no image.
/// Use: mark() all images, then take() each once more.
class LabelFile {
 public:
  /// Several files that share `names`: add_to(names) each, names.finish(), resolve(names) each.
  /// Throws Error(kUsage), naming the lines, for a line without path or label, and for a label that
  /// is not among the `ids`, unless those are null.
  explicit LabelFile(const std::filesystem::path& path, const LabelColumns& columns = {},
                     const LabelIds* ids = nullptr);
  void add_to(LabelNames& names) const;
  /// What a table says of images, which is no label: `columns.several` is set, or the rows are
  /// `next`'s, as LabelRows::next. The label of an image is then the place of its text in labels();
  /// of several rows for one image, the texts that are not empty are joined, a line each. Ready for
  /// use.
  static LabelFile texts(const std::filesystem::path& path, const LabelColumns& columns);
  static LabelFile texts(const std::filesystem::path& path,
                         const std::function<bool(LabelRow&)>& next);
  /// With LabelColumns::kAllOthers: the names of those columns.
  const std::vector<std::string>& other_names() const { return other_names_; }
  /// Throws Error(kUsage), naming the lines, for an invalid label and for a path with two different
  /// labels.
  void resolve(const LabelNames& names);

  /// One file alone, ready for use. Throws as all of the above.
  LabelFile(const std::filesystem::path& path, std::vector<std::string> classes);
  const std::vector<std::string>& classes() const { return classes_; }

  /// Marks an image as there, by its names, the best one first.
  void mark(std::span<const std::string> names);
  void mark(std::string_view path, std::string_view alone) {
    mark(std::array{std::string(path), std::string(alone)});
  }
  void mark(std::string_view path) { mark(path, naming::last_name(path)); }
  /// The image's label; or nothing, and in `problem` why it is rejected: no line names it, one that
  /// does names others, too, or two say different things of it. Throws Error(kUsage) when a line
  /// names it in another letter case or Unicode form. `split`: set to the place of the image's
  /// split in splits(), if there are any.
  std::optional<std::int64_t> take(std::span<const std::string> names, Problem& problem,
                                   std::size_t* split = nullptr) const;
  std::optional<std::int64_t> take(std::string_view path, std::string_view alone,
                                   Problem& problem) const {
    return take(std::array{std::string(path), std::string(alone)}, problem);
  }
  std::optional<std::int64_t> take(std::string_view path, Problem& problem) const {
    return take(path, naming::last_name(path), problem);
  }
  /// To be called between mark() and take(). Notes how many lines are the best name of no image
  /// marked, if there are any: "3 lines of the labels file
  /// matched no " + `what`. Throws Error(kUsage) when images were marked and no line names any of
  /// them, or when the first line names none and looks like a header, unless columns are given by
  /// their numbers.
  void note_unused(std::vector<std::string>& notes, std::string_view what);

  /// Whether lines have labels alone, which then belong to numbered images: line i + 1 to the
  /// image whose number is the i-th.
  bool numbered() const { return numbered_; }
  std::size_t size() const { return lines_.size(); }
  std::int64_t label_of_line(std::size_t i) const { return lines_[i].label; }

  const std::filesystem::path& path() const { return path_; }
  /// The different texts that are labels, in the order in which they come.
  const std::vector<std::string>& labels() const { return labels_; }
  /// The different splits, in the order in which they come; none if no column has them.
  const std::vector<std::string>& splits() const { return splits_; }
  /// Where a text of labels() stands first.
  LabelPlace place_of_text(std::size_t text) const { return {&path_, text_lines_[text]}; }
  /// How the file was read: "labels file 'x.csv': semicolons, a header, ...". Empty for rows that
  /// another reader has read.
  const std::string& note() const { return note_; }

 private:
  static constexpr std::uint8_t kUnused = 255;
  struct Line {
    std::uint64_t path;  ///< where it starts in text_
    std::uint32_t length;
    std::uint32_t number;
    std::int32_t label;           ///< place in labels_; after resolve(), the label
    std::uint8_t rank = kUnused;  ///< of the best name that an image has in it
    std::uint8_t images = 0;      ///< with a name of that rank, up to 2
    std::uint8_t split = 0;       ///< place in splits_
  };
  std::string_view path_of(const Line& line) const {
    return std::string_view(text_).substr(line.path, line.length);
  }
  const Line* find(std::string_view path) const;
  bool says_otherwise(const Line& line, std::span<const std::string> names, Problem& problem) const;
  LabelFile() = default;
  void read(const LabelColumns& columns, const LabelIds* ids);
  void add_line(const LabelRow& row);
  std::int32_t number_of(const std::string& text, std::uint64_t line);
  std::uint8_t split_of(const LabelRow& row);
  void join_texts();
  void refuse_other_form(std::span<const std::string> names) const;
  void refuse_line_numbers() const;
  void sort();
  [[noreturn]] void refuse(std::uint64_t line, const std::string& what,
                           const std::string& advice) const;

  std::filesystem::path path_;
  std::string note_;
  std::vector<std::string> labels_, classes_, other_names_, splits_;
  std::vector<std::uint64_t> text_lines_;  ///< where each of labels_ stands first
  std::unordered_map<std::string, std::uint32_t> unused_forms_;     ///< case_folded() path -> line
  std::map<std::string, std::int32_t, std::less<>> label_numbers_;  ///< places in labels_
  std::string stranger_;     ///< the first image marked that no line names
  std::string text_;         ///< all paths
  std::vector<Line> lines_;  ///< sorted by path, unless numbered
  bool numbered_ = false;
  bool sure_of_header_ = false;  ///< it is known whether the first line is one
  bool any_unused_ = false;      ///< lines that are no image's best name
};

}  // namespace packhorse
