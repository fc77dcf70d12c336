#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace packhorse {

/// The field that holds a sample's objects (packhorse/targets/objects.h).
inline constexpr std::string_view kObjectsField = "objects";

/// What says which objects are in the images.
struct TargetOptions {
  enum class Notation {
    kNone,
    kCoco,  ///< files of COCO, one for each split; samples get their records as a field "json"
    kYolo,  ///< each sample's field "txt"; a sample without it has no objects
    kVoc    ///< each sample's field "xml"
  };
  Notation notation = Notation::kNone;
  /// Files of COCO by split; "": of all others. Of YOLO: its data.yaml, as "".
  std::map<std::string, std::filesystem::path> files = {};
  std::vector<std::string> classes = {};  ///< of the objects; COCO's files name them themselves
  /// Key points of an object in YOLO's lines, and numbers of each: 2 or 3.
  std::size_t keypoints = 0, keypoint_numbers = 3;

  bool empty() const { return notation == Notation::kNone; }
  /// "coco", "yolo" or "voc"; empty for none.
  std::string_view name() const;
  /// The field of a sample that says what its objects are.
  std::string_view field() const;
  /// The fields that packing makes for each sample, besides those that the source has.
  std::vector<std::string> made_fields() const;
  /// YOLO's data.yaml, which names images, splits and classes itself; nothing where it is not
  /// given.
  std::optional<std::filesystem::path> data_yaml() const;
  /// Parses "coco:FILE", "val=coco:FILE", "yolo", "yolo:FILE" and "voc", which may be given several
  /// times for several splits. Throws Error(kUsage).
  void add(const std::string& text);
  /// Throws Error(kUsage) for options that contradict each other or lack something.
  void validate() const;
};

}  // namespace packhorse
