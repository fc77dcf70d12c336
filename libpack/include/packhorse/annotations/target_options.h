#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace packhorse {

/// The field that holds a sample's objects (packhorse/targets/objects.h).
inline constexpr std::string_view kObjectsField = "objects";

/// The field that holds the captions that a file gives.
inline constexpr std::string_view kCaptionField = "caption";

/// A target of an image besides its label and its objects.
struct ExtraTarget {
  enum class Kind {
    kClasses,  ///< several classes, or a score for each: from a table
    kCaption,  ///< a text: a field of the samples, a table, or COCO's file of captions
    kMask      ///< a semantic mask: a field of the samples with a PNG
  };
  Kind kind;
  /// The field; or the file, for one split or all, perhaps with a colon and a column.
  std::string place;
  std::string split = {};
};
/// The kind's name: "classes", "caption", "mask".
std::string_view name_of(ExtraTarget::Kind kind);

/// A table of images and what belongs to each.
struct TablePlace {
  std::filesystem::path file;
  std::string column;  ///< empty: the usual one
};
/// The table that `place` names, where there is such a file.
std::optional<TablePlace> table_of(const ExtraTarget& extra);

/// Where the targets of the images come from: their objects and everything else.
struct TargetOptions {
  enum class Notation {
    kNone,
    kCoco,  ///< files of COCO, one for each split; samples get their records as a field "json"
    kCocoRecords,  ///< each sample's field "json", as packing from COCO makes it; files of COCO
                   ///< have the categories
    kYolo,         ///< each sample's field "txt"; a sample without it has no objects
    kVoc,          ///< each sample's field "xml"
    kHf,           ///< Hugging Face's metadata.jsonl with objects, one for each split; samples get
                   ///< records as of COCO
    kLabelMe,      ///< from here on exports of annotation tools: a file, or a folder of files, for
                   ///< each split; samples get records as of COCO
    kCvat,
    kTable,
    kLabelStudio,
    kVia,
    kDota,
    kKitti,
    kCreateMl
  };
  Notation notation = Notation::kNone;
  /// Files of COCO, metadata or exports, by split; "": of all others. An export may be a folder,
  /// and "FILE:CHOICE" says how it is meant. Of YOLO: its data.yaml, as "".
  std::map<std::string, std::filesystem::path> files = {};
  /// The classes of the objects, unless files name them; else of the masks, or of several classes.
  std::vector<std::string> classes = {};
  /// Keypoints of an object in YOLO's lines, and numbers of each: 2 or 3.
  std::size_t keypoints = 0, keypoint_numbers = 3;
  /// VOC's corners are edges that count from 0, instead of pixels that count from 1.
  bool voc_from_zero = false;

  std::vector<ExtraTarget> extras = {};

  bool empty() const { return notation == Notation::kNone && extras.empty(); }
  bool has_objects() const { return notation != Notation::kNone; }
  bool has(ExtraTarget::Kind kind) const;
  /// Whether files list the objects of the images, and samples get these records as a field.
  bool makes_records() const {
    return notation == Notation::kCoco || notation == Notation::kHf || is_export();
  }
  /// Whether files are of an annotation tool that has a notation of its own.
  bool is_export() const { return notation >= Notation::kLabelMe; }
  /// Whether `files` name the categories of COCO's records.
  bool has_files() const { return makes_records() || notation == Notation::kCocoRecords; }
  /// Whether `classes` are those of the objects.
  bool names_object_classes() const {
    return notation == Notation::kHf || is_export() ||
           (has_objects() && !has_files() && !data_yaml());
  }
  /// "coco", "coco-records", "hf", "yolo", "voc", "labelme", ...; empty for none.
  std::string_view name() const;
  /// The field of a sample from which its objects are read.
  std::string_view field() const;
  /// The fields that packing adds to each sample: for its objects, for other targets, and both.
  std::vector<std::string> object_fields() const;
  std::vector<std::string> extra_fields() const;
  std::vector<std::string> made_fields() const;
  /// YOLO's data.yaml, which names images, splits and classes itself; nothing where it is not
  /// given.
  std::optional<std::filesystem::path> data_yaml() const;
  /// Parses "coco:FILE", "val=coco:FILE", "coco-records:FILE", "hf:FILE", "yolo", "yolo:FILE",
  /// "voc", "labelme:FOLDER" and so on, which may be given several times for several splits;
  /// "classes:FILE:COLUMN", "caption:FIELD", "caption:FILE" and "mask:FIELD". Throws Error(kUsage).
  void add(const std::string& text);
  /// The options that name the same files, each with what they mean: "FILE:CHOICE".
  std::string with_choice(std::string_view choice) const;
  /// Throws Error(kUsage) for options that contradict each other or lack something.
  void validate() const;

 private:
  void add_extra(ExtraTarget extra, std::size_t colon);
};

/// What a dataset is unpacked to: its files as they are, or a dataset with annotation files.
enum class UnpackAs : std::uint8_t { kFolder, kCoco, kYolo, kVoc };

inline constexpr std::array<std::pair<std::string_view, UnpackAs>, 4> kUnpackAs = {
    {{"folder", UnpackAs::kFolder},
     {"coco", UnpackAs::kCoco},
     {"yolo", UnpackAs::kYolo},
     {"voc", UnpackAs::kVoc}}};

}  // namespace packhorse
