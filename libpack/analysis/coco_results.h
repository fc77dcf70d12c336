#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/output_file.h"
#include "packhorse/analysis/detection_scores.h"
#include "packhorse/image/image_info.h"

namespace packhorse {

/// The ids of a dataset's images and classes in COCO's files. Ids are JSON: numbers or texts.
class CocoIds {
 public:
  /// Classes by their numbers from 1.
  explicit CocoIds(std::size_t classes);
  /// The ids of a dataset that keeps the rest of its annotation file (TargetRecord::head). Throws
  /// Error(kCorrupt) unless it has as many categories.
  static CocoIds of_head(std::string_view head, std::size_t classes);
  /// The ids in an annotation file. Categories are found by the names of the classes. Throws
  /// Error(kUsage) for a missing class, and for a file of another kind.
  static CocoIds of_file(const std::filesystem::path& file,
                         const std::vector<std::string>& classes);

  const std::string& of_class(std::int64_t label) const {
    return classes_.at(static_cast<std::size_t>(label));
  }
  /// The image whose file has that name, in any folder. Nothing if no image has it, or several.
  std::optional<std::string> of_image(const std::string& file_name) const;
  /// The image that a sample's field is about: what a dataset keeps of its annotations
  /// (TargetRecord::text). Throws Error(kCorrupt) for a text without an id.
  static std::string of_record(std::string_view text);

 private:
  std::vector<std::string> classes_;
  std::map<std::string, std::string> images_;  ///< by file name; "": several
};

/// Writes detections in COCO's format of results, which pycocotools' loadRes() reads: a list with
/// an image, a category, a box and a score each. https://cocodataset.org/#format-results
class CocoResults {
 public:
  /// The file appears when it is complete. Throws Error(kIo).
  CocoResults(const std::filesystem::path& file, CocoIds ids);

  /// `detections` are in pixels of the upright image. They are written in pixels of the stored
  /// image, which `image` describes, as annotations are.
  void add(std::string_view image_id, const ImageInfo& image,
           std::span<const Detection> detections);
  void finish();

 private:
  CocoIds ids_;
  OutputFile file_;
  bool first_ = true;
};

}  // namespace packhorse
