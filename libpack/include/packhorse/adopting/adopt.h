#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/annotations/target_options.h"
#include "packhorse/packing/pack.h"
#include "packhorse/walkers/walkers.h"

/// Makes a dataset of shards made by others, without rewriting a byte of them.
///
///     PackReport report = adopt({"shards/train-{000000..000146}.tar"}, {});
///     PackedDataset dataset("shards");
namespace packhorse {

struct AdoptOptions {
  /// Where the dataset goes; it then refers to the shards by symbolic links. Nothing: beside the
  /// shards.
  std::optional<std::filesystem::path> out;
  std::vector<std::string> classes;  ///< pins labels, like ListOptions::classes
  std::filesystem::path labels;      ///< a file of lines `key label`, instead of the shards' labels
  /// What the field "objects" was made from, in shards that packhorse wrote. It names the classes.
  TargetOptions targets = {};
  ForeignOptions shards;
  RejectLimit max_rejects;
  /// Limits on the images in the shards, which are not decoded.
  ImageLimits limits = ImageLimits::of_pixels(kDefaultMaxPixels);
  /// The processes in which the formats' libraries go through the shards (walkers/walkers.h), since
  /// a file from outside may crash them or keep them busy for ever. None: in this process.
  std::shared_ptr<WalkerPool> walkers = {};
  int jobs = 0;            ///< threads; 0 = as many as the process may use
  bool overwrite = false;  ///< replace an earlier adoption, and nothing else
  /// The options that packing has, too, with their values there.
  static AdoptOptions of(const PackOptions& options);
  void validate() const;
};

/// Goes through all shards, reads each of their bytes once, and makes them a dataset. `named`:
/// shards, folders of shards, or patterns, all of one format and with different names. The shards
/// are only read. dataset.json appears last, so an interruption leaves no dataset.
///
/// More rejects than allowed are not an exception: the report has `published == false` and lists
/// them. `bytes_out` counts what was written: the indexes and the files beside them.
///
/// Throws Error: kUsage, kNotFound (no shard, no sample), kExists (a file is in the way: an
/// existing file is never replaced), kUnsupported (with advice what to do instead), kCorrupt, kIo
/// (also when a shard changes meanwhile), kNoSpace, kInterrupted.
PackReport adopt(const std::vector<std::filesystem::path>& named, const AdoptOptions& options,
                 Progress* progress = nullptr, std::stop_token stop = {});

}  // namespace packhorse
