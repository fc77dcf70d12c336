#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "labels/label_names.h"
#include "listing/names.h"
#include "packhorse/listing/listing.h"

namespace packhorse {

/// A file that says which image has which label, one line each, in place of class folders:
///
///     ILSVRC2012_val_00000001.JPEG 65
///
/// - Path and label are separated by a tab, a comma or a space: the first of these that every line
///   has. After a space or a tab, the last word is the label; with commas, cells may be quoted as
///   in CSV. A first line whose label is "label" (or "class", "target") is a header.
/// - A path is relative to the source. A line whose path is no image's there, and has no slash,
///   names the one image with that file name.
/// - In shards, a sample's path is the shard's followed by its key; the key alone will do, too.
/// - Labels are class names or integers, as LabelNames takes them.
///
/// Memory: the paths and 24 bytes per line. Use: mark() all images, then take() each once more.
class LabelFile {
 public:
  /// Throws Error(kUsage), naming the lines, for a line without a separator, a path with two
  /// different labels, and an invalid label.
  LabelFile(const std::filesystem::path& path, std::vector<std::string> classes);

  const std::vector<std::string>& classes() const { return names_.classes(); }
  /// Marks an image as there, by its path in the source and by the end of it that suffices as a
  /// name.
  void mark(std::string_view path, std::string_view alone);
  void mark(std::string_view path) { mark(path, naming::last_name(path)); }
  /// The image's label; or nothing, and in `reason` why it is rejected.
  std::optional<std::int64_t> take(std::string_view path, std::string_view alone,
                                   std::string& reason) const;
  std::optional<std::int64_t> take(std::string_view path, std::string& reason) const {
    return take(path, naming::last_name(path), reason);
  }
  /// Notes how many lines name no image marked, if there are any: "3 lines of the labels file named
  /// no " + `what`. Throws Error(kUsage) when images were marked, and no line names any of them.
  void note_unused(std::vector<std::string>& notes, std::string_view what) const;

 private:
  struct Line {
    std::uint64_t path;  ///< where it starts in text_
    std::uint32_t length;
    std::uint32_t number;
    std::int32_t label;
    std::uint16_t by_path = 0;  ///< images with this path
    std::uint16_t by_name = 0;  ///< images of that name elsewhere, up to 2
  };
  std::string_view path_of(const Line& line) const {
    return std::string_view(text_).substr(line.path, line.length);
  }
  const Line* find(std::string_view path) const;
  void read(const std::filesystem::path& path);
  void sort(const std::filesystem::path& path);

  std::filesystem::path file_;
  LabelNames names_;
  std::string stranger_;     ///< the first image marked that no line names
  std::string text_;         ///< all paths
  std::vector<Line> lines_;  ///< sorted by path
};

/// Gives all entries of a listing their labels; those that the file does not name become rejects.
void apply_labels(LabelFile& labels, Listing& listing);

}  // namespace packhorse
