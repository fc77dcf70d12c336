#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "packhorse/packing/pack.h"
#include "packing/publish.h"
#include "packing/select.h"
#include "packing/shard_sink.h"
#include "packing/staging.h"

namespace packhorse {

/// One dataset in the making, from the listing of its source to the plan of each split.
struct PackJob {
  PackOptions options;
  std::unique_ptr<Source> source;
  Listing listing;
  Selection selection;
  bool keep_keys = false;  ///< samples keep the keys and the order of their source
  std::vector<SplitWork> splits;
  std::unique_ptr<ShardSink> sink;  ///< where the shards go; none in a dry run
};

/// An image mode and its settings, as the manifest names them.
using ImageMode = std::pair<std::string, std::string>;
ImageMode mode_of(const Source& source);
/// The image mode of the new dataset; when the images of a packed source are kept as they are, it
/// is the mode of that source.
ImageMode image_mode(const Source& source, const PackOptions& options);

/// Refuses an image mode that would cut objects off. Throws Error(kUsage).
void refuse_cutting(const PackOptions& options);

/// Selects samples of the listing and plans the shards. Throws Error(kUsage) for fields that the
/// format has no place for, and as select() does.
void plan_job(PackJob& job, Progress& progress);

/// Packs every shard that is `job`'s to pack, or with PackOptions::finish collects those that tasks
/// have packed, and publishes the dataset unless the job is a task or too much was rejected. Throws
/// as pack() does.
PackReport run_job(PackJob& job, const std::filesystem::path& out, Staging& staging,
                   Progress& progress);

/// Fills in what the report says of listing, selection and shards.
void account(PackReport& report, const PackJob& job);

/// The bytes that the shards of these splits and their indexes will take at most, approximately:
/// inputs as they were listed, what the image mode may make of them, and the overhead of format and
/// index.
std::uint64_t estimate_bytes(const std::vector<SplitWork>& splits, const Listing& listing,
                             const PackOptions& options);

/// Throws Error(kNoSpace) with the figures when `bytes` do not fit on the disk of `staging`. Files
/// already in that directory count as done.
void check_space(std::uint64_t bytes, const std::filesystem::path& staging);

/// Describes the planned `splits` of a source whose rejects and skips `report` holds.
PackPreview preview_of(const std::vector<SplitWork>& splits, const std::vector<std::string>& fields,
                       const PackReport& report);

/// Reads the annotations of all images in `splits`, and for those that are fields of the source
/// the images, too; `jobs` threads. Throws Error(kInterrupted).
PackPreview::Targets preview_targets(const Source& source, const Listing& listing,
                                     const std::vector<SplitWork>& splits, int jobs,
                                     const ImageLimits& limits);

}  // namespace packhorse
