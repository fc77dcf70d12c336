#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packhorse/base/reason.h"

namespace packhorse {

/// Where a label stands: a line of a file, if that is known.
struct LabelPlace {
  const std::filesystem::path* file = nullptr;
  std::uint64_t line = 0;
};

/// Throws Error(kUsage) for a class name that is not UTF-8, or has control characters.
void check_class_name(std::string_view name, const LabelPlace& place = {});

/// Two of the names that differ only in letter case or in their Unicode form, by their places;
/// nothing when there are none.
std::optional<std::pair<std::size_t, std::size_t>> lookalikes_in(
    std::span<const std::string> names);
inline constexpr const char* kLookalikeAdvice =
    "write them alike; if they are two classes, list both: `classes=FILE`, or "
    "`target_classes=FILE` for `targets=`";

/// Turns the texts in tables into labels. Texts are class names or integers:
///
/// - With a class list, a text is a name in that list; failing that, an integer is a place in it,
///   unless a name there is a number: integers are all names, or all places.
/// - Without one, texts that are all integers are the labels, and the classes are named "0" ... the
///   largest one. Texts that are all names are the classes, and labels their places in byte order;
///   so are texts of digits that are all equally long, some with a leading zero ("000" ... "120").
///   All else is refused, with a text of each kind: it would renumber the integers. So are names
///   that differ only in letter case or in their Unicode form, cells that say that there is no
///   value ("NaN"), and lists of other labels ("cat|dog" beside "dog").
///
/// An integer is written without leading zeros and without a plus. A number that is no integer
/// ("3.0") is no name.
///
///     LabelNames names(options.classes);
///     for (row : rows) names.add(row.label, {&file, row.line});
///     names.finish();
///     for (row : rows) use(names.label(row.label));
class LabelNames {
 public:
  explicit LabelNames(std::vector<std::string> classes);
  void add(std::string_view text, const LabelPlace& place = {});
  /// No add() after this, no label() before it. Throws Error(kUsage), naming the lines, as above.
  void finish();
  /// What was decided, after finish(): integers of which few occur, numbers that are names.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Returns nothing for a text that is no label; `problem` then says why.
  std::optional<std::int64_t> label(std::string_view text, Problem& problem) const;
  const std::vector<std::string>& classes() const { return classes_; }
  /// Whether a text is a label by being the name of a class, not by being a place.
  bool is_name(std::string_view text) const { return labels_.contains(text); }

 private:
  enum class Kind { kInteger, kPadded, kNumber, kName };
  static constexpr std::size_t kKinds = 4;
  struct Known {
    std::int64_t label = 0;
    std::uint32_t file = 0, line = 0;  ///< of files_, from 1
  };
  using Labels = std::map<std::string, Known, std::less<>>;
  static Kind kind_of(std::string_view text);
  static std::string_view words_of(Kind kind);
  std::uint32_t number_of(const LabelPlace& place);
  std::string place_of(const Known& known, const Known& other) const;
  const std::filesystem::path& file_of(const Known& known) const { return files_[known.file]; }
  bool all_integers() const;
  bool all_padded() const;
  void refuse_several_kinds() const;
  void refuse_lookalikes() const;
  void refuse_missing() const;
  void refuse_lists() const;
  void number_names();
  void keep_integers();

  std::vector<std::string> classes_, notes_;
  bool pinned_;
  std::string named_by_number_;  ///< a name in the class list that is a number, one met if any is
  Labels labels_;
  std::array<Labels::const_pointer, kKinds> first_{};  ///< the first text of each kind
  bool same_length_ = true;                            ///< all texts
  std::vector<std::filesystem::path> files_ = {{}};
};

/// A note when not all integers up to the largest are labels; else nothing.
std::optional<std::string> note_sparse(std::size_t classes, std::size_t occurring);

}  // namespace packhorse
