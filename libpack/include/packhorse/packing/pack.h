#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "formats/format.h"
#include "packhorse/base/progress.h"
#include "packhorse/base/reject_limit.h"
#include "packhorse/dataset/manifest.h"
#include "packing/plan.h"
#include "packing/preview.h"
#include "packing/select.h"
#include "sources/source.h"
#include "transforms/transform.h"

/// Packs a source of images into shards.
///
///     PackOptions options;
///     options.format = "wds";
///     PackReport report = pack("imagenet", "packed", options);
namespace packhorse {

/// The share of one process when several pack one dataset: the shards whose number leaves the
/// remainder `index` when divided by `count`.
struct TaskShare {
  std::size_t index = 0, count = 1;
  /// "3/8", counted from 0. Throws Error(kUsage).
  static TaskShare parse(const std::string& text);
};

/// Parses "zstd", or "zstd:1" to "zstd:19". Throws Error(kUsage).
int parse_zstd_level(const std::string& text);

struct PackOptions {
  std::string format;  ///< a name of all_formats(); must be set
  std::string image = "original";
  TransformOptions transform = {};
  int zstd_level = 0;  ///< compression of shards, where the format has it; 0 = none
  PlanOptions plan = {};
  std::string source_kind = {};  ///< a name of all_sources(); empty: found by looking at it
  ListOptions list = {};
  SelectOptions select = {};
  /// Shuffles and renames even samples that come with keys and an order of their own (a packed
  /// dataset).
  bool reorder = false;
  RejectLimit max_rejects = {};
  ImageLimits limits = {};  ///< images beyond them are rejected, whether the mode decodes or not
  /// Also decodes images whose bytes are kept as they are; an image that cannot be decoded is
  /// rejected.
  bool decode = false;
  int jobs = 0;  ///< threads; 0 = as many as the process may use
  /// What the list of a source's samples may take, at least kLeastMemory; the rest of it goes to an
  /// unnamed file beside the dataset. The bytes packed do not depend on it. A DatasetWriter has its
  /// list in memory whatever this says.
  std::uint64_t memory = std::uint64_t{1} << 30;
  static constexpr std::uint64_t kLeastMemory = 16u << 20;
  bool overwrite = false;
  bool dry_run = false;     ///< list and plan only; nothing is written
  bool check_space = true;  ///< refuse when the estimate does not fit on the disk
  /// Packs only a share into the staging directory, beside other processes, and publishes nothing.
  std::optional<TaskShare> task = {};
  bool finish = false;  ///< packs nothing, but publishes what tasks have packed
  /// Of a dataset at a URL: the directory in which it is built, instead of staging_path().
  std::filesystem::path staging = {};
  void validate() const;
};

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
  std::string detected = {};       ///< as Listing::detected
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
/// More rejects than allowed are not an exception: the report has `published == false` and lists
/// them. Throws Error: kUsage (options that do not fit each other, the format or the source; class
/// folders that are doubtful, see Doubt, unless `options.list.allow_odd_classes`), kNotFound (no
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
