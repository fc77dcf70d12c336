#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "listing/listing.h"

namespace packhorse {

/// An image's path in its source, taken apart for the placeholders of a FieldPattern.
struct ImagePlace {
  std::string split;         ///< {split}: the name of its split's folder; "" where there are none
  std::string class_folder;  ///< {class}: the first folder in that of the class folders; "" = none
  std::string folders;       ///< {dir}: the folders it lies in, without those named like images
  std::string below_class;   ///< {dir} in a pattern that has {class}: those in the class folder
  std::string stem;          ///< {stem}: its name without the last extension
};

/// Says in which file of the source an image's field lies.
///
///     masks                                                  masks/{dir}/{stem}.png for seg.png
///     masks/{stem}_mask.png                                  {stem%_sat}: without the ending
///     "_sat" gtFine/{split}/{dir}/{stem%_leftImg8bit}_gtFine_labelIds.png
///
/// Thread-safe.
class FieldPattern {
 public:
  /// Throws Error(kUsage) for a pattern that is none, or leads out of the source.
  explicit FieldPattern(const FieldPlace& place);

  /// The path of an image's file; nothing when the image can have none: its name lacks the ending
  /// that {stem%ENDING} cuts off, or there is no split or class folder to name.
  std::optional<std::string> file_of(const ImagePlace& image) const;

  /// Whether the file at `path` is the field of some image, and so never an image itself. True for
  /// all that is in a folder that the pattern, lacking {stem}, names.
  bool may_be(std::string_view path) const;
  /// Whether everything in the folder may_be() a field.
  bool covers(std::string_view folder) const;
  /// Whether the pattern spells out the folder's name, which then is no class unless it holds
  /// images.
  bool spells(std::string_view folder) const;

 private:
  struct Token {
    enum class Kind { kText, kSplit, kClass, kDir, kStem };
    Kind kind;
    std::string text;  ///< of kStem: the ending to cut off
  };
  /// The name of a folder, or of the file.
  struct Segment {
    std::vector<Token> tokens;
    bool has(Token::Kind kind) const;
  };
  using Names = std::vector<std::string_view>;

  Segment parse(std::string_view name) const;
  Token placeholder(std::string_view text) const;
  void add_file_name(const std::string& field);
  void refuse_unclear() const;
  [[noreturn]] void refuse(const std::string& what) const;
  bool has(Token::Kind kind) const;
  static std::optional<std::string> filled(const Segment& segment, const ImagePlace& image);
  static bool fits(const Segment& segment, std::string_view name);
  /// Whether the first `n` segments are the names.
  bool fits(std::size_t n, const Names& names) const;

  std::string text_;
  std::vector<Segment> segments_;
  std::size_t dir_ = 0;    ///< the segment that is {dir}; their number when there is none
  std::size_t whole_ = 0;  ///< segments of a folder that is named whole; 0 = a pattern of files
  bool class_in_path_ = false;  ///< it has {class}
};

}  // namespace packhorse
