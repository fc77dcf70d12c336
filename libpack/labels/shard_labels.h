#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "packhorse/base/reason.h"

/// What the `.cls` and `.json` members of a WebDataset sample say about its class.
namespace packhorse {

/// A number or a class name.
struct ShardLabel {
  std::string text;
  Problem problem = {};  ///< why it cannot be read; then there is no text
};

ShardLabel label_in_cls(std::string_view content);
/// Reads the member "label" or "cls", whichever is there; nothing when neither is.
std::optional<ShardLabel> label_in_json(std::string_view content);

/// The label that `text` means among classes (name -> label): a number is a place among them,
/// anything else a name. Nothing when there is no such class.
std::optional<std::int64_t> label_among(
    const std::string& text, const std::unordered_map<std::string, std::int64_t>& classes);

/// All distinct labels of a source, in compact form. They become classes when all are known.
class ShardLabels {
 public:
  /// Returns a number for `text`, the same one for the same text.
  std::int64_t number_of(const std::string& text);
  const std::string& text_of(std::int64_t number) const {
    return texts_[static_cast<std::size_t>(number)];
  }
  bool empty() const { return texts_.empty(); }

  /// Label -> class name: `given` if there are any; else "0", "1", ... when all labels are numbers;
  /// else the labels themselves, sorted. Throws Error(kUsage) when some are numbers and others not,
  /// and for names that differ only in letter case or Unicode form. `notes`: what was decided.
  /// Afterwards, resolve() knows each one.
  std::vector<std::string> make_classes(const std::vector<std::string>& given,
                                        std::vector<std::string>& notes);

  struct Resolved {
    std::int64_t label = -1;
    Problem problem = {};
  };
  const Resolved& resolve(std::int64_t number) const {
    return resolved_[static_cast<std::size_t>(number)];
  }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::int64_t> numbers_;
  std::vector<Resolved> resolved_;
};

}  // namespace packhorse
