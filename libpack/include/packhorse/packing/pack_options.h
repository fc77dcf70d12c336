#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "packhorse/base/reject_limit.h"
#include "packhorse/image/image_info.h"
#include "packhorse/sources/list_options.h"
#include "packhorse/transforms/transform_options.h"

namespace packhorse {

/// Which sample goes into which shard.
struct PlanOptions {
  bool shuffle = true;
  std::uint64_t seed = 0;
  std::uint64_t shard_bytes = 256u << 20;  ///< target size, counting inputs; 0 = unlimited
  std::uint64_t shard_samples =
      0;  ///< exact number in each shard (the last has the rest); 0 = by bytes
};

/// Which of the listed samples are packed, and into which split.
struct SelectOptions {
  /// Globs as for fnmatch(3). One without '/' is matched against the file name, one with '/'
  /// against the path in the source (where '*' matches '/', too). With `include`, only files that
  /// match one of its globs are kept; `exclude` always leaves out what it matches.
  std::vector<std::string> include, exclude;
  enum class Duplicates { kKeep, kReport, kDrop };
  /// What happens to inputs with identical bytes, over all splits. kDrop keeps one of each:
  /// preferably one outside "train", so that no evaluation image is trained on, otherwise the first
  /// by path.
  Duplicates duplicates = Duplicates::kKeep;
  /// Weights of train and val, or of train, val and test: {90, 10}. The image's bytes decide, so
  /// identical images stay together and adding images moves no other. Empty: leave splits as they
  /// are.
  std::vector<unsigned> split;
  std::uint64_t samples_per_class = 0;  ///< at most, in each split; 0 = all
  std::uint64_t limit = 0;              ///< samples at most, in each split; 0 = all
  std::uint64_t seed = 0;               ///< decides which samples the last two options take
  bool in_order = false;                ///< take the first samples instead
  int jobs = 0;                         ///< threads that read; 0 = as many as the process may use

  /// Whether they leave everything as it is.
  bool empty() const;
  /// Parses "90:10". Throws Error(kUsage).
  static std::vector<unsigned> parse_split(const std::string& text);
  void validate() const;
};

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

}  // namespace packhorse
