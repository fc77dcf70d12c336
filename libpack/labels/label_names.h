#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace packhorse {

/// Turns the texts in a list file or a labels file into labels. Texts are class names or integers:
///
/// - With a class list, a text is a name in that list; failing that, an integer is a place in it.
/// - Without one, texts that are all integers are the labels, and the classes are named "0" ... the
///   largest one. Otherwise all texts are names, and labels are their places in byte order.
///
/// An integer is written without leading zeros: "007" is a name.
///
///     LabelNames names(options.classes);
///     for (row : rows) names.add(row.label);
///     names.finish();
///     for (row : rows) use(names.label(row.label));
class LabelNames {
 public:
  explicit LabelNames(std::vector<std::string> classes);
  void add(std::string_view text);
  /// No add() after this, no label() before it.
  void finish();
  /// Returns nothing for a text that is no label; `reason` then says why.
  std::optional<std::int64_t> label(std::string_view text, std::string& reason) const;
  const std::vector<std::string>& classes() const { return classes_; }
  /// Whether a text is a label by being the name of a class, not by being a place.
  bool is_name(std::string_view text) const { return labels_.contains(text); }
  /// Takes no integer for a place when all names in the class list are integers: "5" would be a
  /// name, and "0" beside it a place.
  void refuse_places_among_integers();

 private:
  std::vector<std::string> classes_;
  bool pinned_;
  bool all_integers_ = true;
  bool places_ = true;  ///< an integer may be a place in the class list
  std::map<std::string, std::int64_t, std::less<>> labels_;
};

}  // namespace packhorse
