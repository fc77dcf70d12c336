#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// `dataset.json`, which makes a directory of shards a dataset. It is written last; without it
/// there is no dataset. It holds no time, host name or absolute path: same input, same bytes.
namespace packhorse {

class DatasetDirectory;

inline constexpr std::string_view kManifestName = "dataset.json";
inline constexpr std::string_view kSumsName = "SHA256SUMS";
inline constexpr std::string_view kClassesName = "classes.txt";
inline constexpr std::string_view kRejectsName = "rejects.jsonl";
inline constexpr std::string_view kIndexSuffix = ".index";  ///< of a shard's index
inline constexpr int kManifestVersion = 1;

struct ShardRecord {
  std::string file;  ///< data file, relative to the dataset
  std::string index;
  std::uint64_t samples = 0;
  std::uint64_t first_sample = 0;  ///< samples in all shards before this one
  std::uint64_t bytes = 0;
  std::uint64_t index_bytes = 0;
  std::string sha256;
  std::string index_sha256;
};

/// Any other published file: class list, rejects, indexes for other readers.
struct FileRecord {
  std::string file;
  std::uint64_t bytes = 0;
  std::string sha256;
};

struct Accounting {
  std::uint64_t seen = 0, packed = 0, rejected = 0, skipped = 0;
  bool balanced() const { return seen == packed + rejected + skipped; }
};

/// How foreign shards were adopted: all that is needed to read them the same way again.
struct Adoption {
  std::string layout;  ///< which of its format's conventions the shards follow
  /// Where labels come from: kFromShards, kFromFile, or kNowhere.
  std::string labels;
  bool qualified_keys =
      false;  ///< keys repeat across shards, so the shard's name is in front of them
  std::map<std::string, std::string> arrays;  ///< names given for arrays: "images", "offsets", ...
  static constexpr std::string_view kFromShards = "shards", kFromFile = "file", kNowhere = "none";
};

/// Kinds of targets.
inline constexpr std::string_view kObjectsTarget = "objects", kClassesTarget = "classes",
                                  kCaptionTarget = "caption", kMaskTarget = "mask";
/// The usual label of mask pixels that belong to no class.
inline constexpr std::uint8_t kIgnoredLabel = 255;

/// A field that has targets of the samples, besides their labels.
struct TargetRecord {
  std::string name;       ///< of the field
  std::string kind;       ///< one of those above: docs/formats/objects.md
  std::string text = {};  ///< the field with the same content as text: "json", "txt", "xml"
  std::vector<std::string> classes = {};  ///< of the objects, the image or the pixels: their names
  std::vector<std::string> keypoints = {};  ///< names of an object's keypoints
  /// The content of a COCO file besides images and annotations (licences, categories with their
  /// ids, ...): a JSON object as it is written there. Empty if there is none, or too much of it.
  std::string head = {};
  /// The label of the pixels of a mask that belong to no class.
  std::optional<std::uint8_t> ignore = {};
  friend bool operator==(const TargetRecord&, const TargetRecord&) = default;
};

struct Manifest {
  std::string version;  ///< the packhorse version that wrote this; not part of the id
  std::string format;
  int format_version = 0;
  std::string image;                  ///< transform
  std::string image_settings;         ///< what shaped the images, e.g. "short_side=256 quality=90"
  std::string compress;               ///< "zstd:3"; empty = not
  std::vector<std::string> fields;    ///< names of extra fields, sorted
  std::vector<TargetRecord> targets;  ///< fields with targets
  std::string split;                  ///< "" when the source had none
  std::optional<Adoption> adopted;    ///< set for shards that packhorse did not write
  bool shuffle = true;
  std::uint64_t seed = 0;
  std::uint64_t shard_bytes = 0;
  std::uint64_t shard_samples = 0;
  std::uint64_t samples = 0;
  std::uint64_t payload_bytes = 0;
  std::vector<std::uint64_t> class_samples;  ///< by label
  Accounting accounting;
  std::map<std::string, std::uint64_t> skipped_by_rule;
  std::vector<ShardRecord> shards;
  std::vector<FileRecord> files;

  /// SHA-256 over the canonical text of everything above except `version`. Names the dataset: two
  /// datasets with one id hold the same bytes.
  std::string id() const;
  /// The canonical text of dataset.json. Parsing and serialising gives the same bytes again.
  std::string serialise() const;
  /// Throws Error(kCorrupt) with the path when the text is not a manifest, when its id or counts of
  /// samples do not fit, or when it names a file outside the dataset (is_inner_name());
  /// Error(kUnsupported) for a later manifest version.
  static Manifest parse(std::string_view text, const std::filesystem::path& path);
  static Manifest load(const DatasetDirectory& dataset);
  static Manifest load(const std::filesystem::path& dataset);
  /// The text of SHA256SUMS: a line for each shard, index and other file, and for dataset.json.
  std::string sums() const;
};

}  // namespace packhorse
