#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/base/progress.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/listing/inputs.h"
#include "packhorse/packing/pack_options.h"

/// Packs a source of images into shards.
///
///     PackOptions options;
///     options.format = "wds";
///     PackReport report = pack("imagenet", "packed", options);
namespace packhorse {

struct PackedSplit {
  std::string split;
  std::filesystem::path path;
  Manifest manifest;
};

/// The objects in the packed images.
struct ObjectCounts {
  std::uint64_t objects = 0;
  std::uint64_t images_without = 0;
  /// Images that their EXIF orientation turns, where nothing says whether their objects are so,
  /// too.
  std::uint64_t images_turned = 0;

  void add(std::size_t in_image, bool turned) {
    objects += in_image;
    images_without += in_image == 0 ? 1u : 0u;
    images_turned += turned ? 1u : 0u;
  }
  void add(const ObjectCounts& other) {
    objects += other.objects;
    images_without += other.images_without;
    images_turned += other.images_turned;
  }
};

/// Inputs with identical bytes.
struct DuplicateGroup {
  struct Member {
    std::string path;  ///< begins with the split
    std::int64_t label = 0;
    bool dropped = false;
  };
  std::vector<Member> members;
  bool across_splits = false;
  bool across_classes = false;
};

/// What a dry run shows of a plan: enough to see wrong labels at a glance, and bounded however
/// large the source is.
struct PackPreview {
  struct Example {
    std::string path;  ///< in the source, as Reject::path
    std::int64_t label = 0;
    std::vector<std::string> fields = {};  ///< the extra fields it has
  };
  struct Split {
    std::string split;
    std::uint64_t samples = 0, bytes = 0, shards = 0;
    std::uint64_t classes_without = 0;  ///< classes of which the split has no sample
    std::vector<Example> examples;      ///< the first, the middle and the last by path
  };
  struct ClassCount {
    std::int64_t label = 0;
    std::uint64_t samples = 0;            ///< over all splits, also those left out
    std::vector<std::uint64_t> by_split;  ///< as `splits`
  };
  struct Reason {
    std::string reason;                                 ///< of the first
    packhorse::Reason code = packhorse::Reason::kNone;  ///< of all; kNone for skips
    std::uint64_t count = 0;
    std::string path;  ///< of the first
  };
  /// The objects that --targets finds in the images.
  struct Targets {
    std::string notation;                 ///< "coco", "yolo", "voc"
    std::vector<std::string> classes;     ///< by label
    std::vector<std::uint64_t> objects;   ///< of each class
    std::uint64_t images = 0, empty = 0;  ///< that can be packed; of them, those without objects
    std::uint64_t polygons = 0, masks = 0, keypoints = 0, crowds = 0;  ///< objects that have such
    std::uint64_t rejected = 0;  ///< images whose annotations cannot be packed
    /// Why, as `rejects`.
    std::vector<Reason> problems;
    std::uint64_t problem_reasons_left_out = 0;
  };
  std::vector<Split> splits;  ///< the first 8
  std::uint64_t splits_left_out = 0;
  /// All classes, by label; of more than 16, the 5 largest and the 5 smallest, by size.
  std::vector<ClassCount> classes;
  std::uint64_t classes_left_out = 0;
  /// The most frequent 10. Rejects whose reasons differ only in their digits count as one.
  std::vector<Reason> rejects, skips;
  std::uint64_t reject_reasons_left_out = 0;
  std::optional<Targets> targets = {};
};

struct PackReport {
  Accounting accounting;
  std::uint64_t bytes_in = 0;   ///< read from the source for packed samples
  std::uint64_t bytes_out = 0;  ///< of all published files
  std::uint64_t shards = 0;
  std::uint64_t shards_kept = 0;  ///< taken over from an interrupted run or from tasks
  std::uint64_t estimate = 0;     ///< bytes the dataset may need on disk at most, approximately
  double seconds = 0;
  std::string id;          ///< the dataset's id; with splits, SHA-256 over their ids in split order
  bool published = false;  ///< false: dry run, a task, or more rejects than allowed
  std::vector<std::string> classes;  ///< label -> class name, with the bytes it has in the source
  std::vector<Reject> rejects;       ///< by their paths in the source
  /// Where they are listed when nothing was published but shards were finished, which the next run
  /// can keep; empty when there is nothing to keep, and so no staging directory either.
  std::filesystem::path rejects_file;
  std::string advice;  ///< how to give most of the rejects a label, where that is what they lack
  std::vector<Skip> skips;  ///< by their paths in the source
  std::map<std::string, std::uint64_t> skipped_by_rule;
  std::map<std::string, std::uint64_t> image_notes;  ///< what the image mode did, counted
  std::optional<ObjectCounts> objects;               ///< where the samples have objects as a target
  std::vector<DuplicateGroup> duplicates;
  std::string detected = {};  ///< what the source was taken for, where its layout alone says so
  std::vector<std::string> notes;  ///< from source and selection, in words
  std::vector<PackedSplit> splits;
  std::optional<PackPreview> preview;  ///< of a dry run
};

/// Packs `source` into the dataset `out` with `options.jobs` threads. Everything is built in the
/// staging directory `<out>.partial`; `out` appears in one rename when all of it is on disk. An
/// interrupted or refused run leaves its finished shards there, and the next call with the same
/// arguments keeps those whose inputs and bytes are unchanged. The bytes written depend only on the
/// source and the options.
///
/// `out` may be a URL, if the program can open URLs (packhorse/storage/remote.h) and the storage
/// can be written to: finished shards go there at once, and dataset.json last, on the condition
/// that there is none; of several splits, one after the other. Nothing there is ever replaced.
/// Receipts and indexes stay in the staging directory until the end, and the next call goes on from
/// them.
///
/// Several processes, on one machine or many, can pack one dataset: each with a `task` and all with
/// the same other options, in any order, at any time, and again if they died. One more with
/// `finish` then checks that every shard is there and publishes. The bytes are those of a single
/// run.
///
/// Scratch files without a name go beside the dataset or into the system's directory for temporary
/// files (TMPDIR). Effects on the whole process are those of PackedDataset.
///
/// More rejects than allowed are not an exception: the report has `published == false` and lists
/// them. Throws Error: kUsage (options that do not fit each other, the format or the source; class
/// folders that are doubtful, unless `options.list.allow_odd_classes`), kNotFound (no
/// source, nothing to pack, shards missing at the finish), kExists (the target exists, or another
/// writer holds it), kIo, kNoSpace (also by the estimate, before anything is written),
/// kInterrupted.
PackReport pack(const std::filesystem::path& source, const std::filesystem::path& out,
                const PackOptions& options, Progress* progress = nullptr,
                std::stop_token stop = {});

/// The directory in which the dataset `out` is built: beside it; of a dataset at a URL,
/// `<its last part>.partial` in the working directory.
std::filesystem::path staging_path(const std::filesystem::path& out);

}  // namespace packhorse
