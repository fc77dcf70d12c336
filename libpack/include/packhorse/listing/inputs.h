#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packhorse/base/reason.h"

/// What becomes of a source's inputs besides samples, and what belongs to a sample besides its
/// image.
namespace packhorse {

/// One input that looks like a sample but cannot become one, and why.
struct Reject {
  Reject(std::string where, Problem why)
      : path(std::move(where)), code(why.code), reason(std::move(why.text)) {}
  std::string path;  ///< relative to the source, as printable() writes it
  Reason code;
  std::string reason;  ///< in words
};

/// One input that a rule leaves out; not a failure.
struct Skip {
  std::string path;       ///< as Reject::path
  std::string_view rule;  ///< a constant, e.g. "not a regular file"
};

/// An extra field whose files are not beside the images.
struct FieldPlace {
  std::string name;
  /// A folder whose folders are those of the images, or a pattern of paths: docs/annotations.md,
  /// "Files in other folders".
  std::string pattern;
  bool required = true;  ///< an image without its file is rejected
};

/// The dot at which the key of a WebDataset member ends: v1 or v1.00 for v1.00.jpg.
enum class KeyDot { kFirst, kLast };
/// Parses "first" and "last". Throws Error(kUsage).
KeyDot parse_key_dot(const std::string& text);

/// Which of a sample's companions are taken as extra fields.
struct FieldChoice {
  /// Unset: what the source brings by itself (folders and archives none; a manifest file its
  /// further columns; shards all they hold). A list: just these; an empty list: none.
  std::optional<std::vector<std::string>> names = {};
  /// Further fields of a folder or an archive, by where their files lie.
  std::vector<FieldPlace> places = {};
  /// WebDataset shards: which members are fields of which sample. Unset: each sample's members
  /// tell, or it is refused.
  std::optional<KeyDot> key_dot = {};

  /// Parses "json,seg.png"; "none" is an empty list. Throws Error(kUsage).
  static FieldChoice parse(const std::string& text);
};

/// Names of the arrays in a shard, in formats that have named ones. Empty: the usual names.
struct ArrayNames {
  std::string images, offsets, labels, keys;
  friend bool operator==(const ArrayNames&, const ArrayNames&) = default;
};

/// How shards made by others are read.
struct ForeignOptions {
  ArrayNames arrays = {};
  FieldChoice fields = {};
};

}  // namespace packhorse
