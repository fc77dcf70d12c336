#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "dataset/simulated_storage.h"
#include "measure/cpu_load.h"
#include "measure/measurement.h"
#include "packhorse/image/image_info.h"
#include "packhorse/reader/dataset.h"
#include "packhorse/trainer/device/device.h"
#include "packhorse/trainer/recipe/recipe.h"

/// Measures what packing gains: the same work on a folder and on packed datasets of it, side by
/// side.
namespace packhorse::trainer {

/// Where the bytes come from during a pass.
struct Condition {
  enum class Kind {
    kWarm,       ///< the page cache
    kCold,       ///< the disk: see reader::make_cold(); proved after each pass
    kSimulated,  ///< the page cache, with the delays of `storage`
    kRemote,     ///< a URL, without a cache: only for inputs at URLs
  };
  Kind kind = Kind::kWarm;
  reader::StorageModel storage = {};
  bool names_dropped = false;  ///< cold: file names and inodes, too
  static Condition cold();
  /// "warm", "cold", "remote" or the storage's name.
  std::string name() const;
};

struct MeasureOptions {
  std::filesystem::path folder;
  std::vector<std::filesystem::path> packed;
  std::string split;  ///< empty: "train" where there are splits
  RecipeChoices recipe;
  Device device;
  /// Simulates a device that takes so many images a second and no core, instead of training a
  /// model. 0: trains a model.
  double simulated_device = 0;
  int workers = -1;
  int slots = 4;                                    ///< batches in memory
  bool cold = false;                                ///< also measure cold
  std::vector<reader::StorageModel> storages = {};  ///< also measure on each of these
  /// Remote bytes so far (remote_counters()); without it they are not counted.
  std::function<std::uint64_t()> remote_bytes = {};
  int repeats = 5;
  /// Batches that come before those of a pass and are not timed: training steps, where it trains.
  std::int64_t warmup_steps = 5;
  std::int64_t steps = 0;  ///< timed training steps of a pass; 0: as `max_seconds` says
  /// Length of one timed pass, in seconds. Slow storage delivers in bursts, so a pass lasts at
  /// least four times as long as its first batch took.
  double max_seconds = 3;
  bool cuda_graph = false;  ///< see EngineOptions
  bool gpu_decode = false;  ///< the GPU decodes all JPEGs
  ImageLimits limits = {};  ///< of images that are decoded
  /// Throws Error(kUsage).
  void validate() const;
};

/// One timed pass of one kind of work.
struct Pass {
  std::uint64_t images = 0;
  std::uint64_t warmup_images = 0;  ///< images before those, not timed
  double seconds = 0;
  std::uint64_t bytes = 0;  ///< stored, read by it
  /// Bytes that the disk, the simulated storage or the network delivered, warm-up included.
  std::uint64_t disk_bytes = 0;
  double cpu_s = 0;                   ///< of the process
  reader::CpuLoad load = {};          ///< of other programs meanwhile
  double first_batch_s = 0;           ///< from making the loader to the first batch
  std::vector<double> batch_ms = {};  ///< from one batch to the next; training: of each step
  // Only for training:
  double wait_s = 0;     ///< waiting for batches
  double compute_s = 0;  ///< from having a batch to the step's end
  double copy_s = 0;     ///< copying to the device, in parallel with computing
  double host_s = 0;     ///< part of compute_s, until all work of the steps was queued
  double loss = 0;       ///< mean: proof that training happened
  double images_per_s() const { return seconds > 0 ? static_cast<double>(images) / seconds : 0; }
  double disk_bytes_per_image() const {
    const std::uint64_t all = warmup_images + images;
    return all > 0 ? static_cast<double>(disk_bytes) / static_cast<double>(all) : 0;
  }
};

/// An input: the folder, or a packed dataset.
struct MeasuredInput {
  std::filesystem::path path;
  std::string name;                ///< "folder", or format and image mode: "wds roi"
  std::string format, image_mode;  ///< "folder", "wds", ...; "original", "roi", ...
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;  ///< of its files
  std::string file_system;  ///< or the URL's scheme
  bool from_afar = false;   ///< it is at a URL
};

/// The passes over one input under one condition, one Pass per repeat; all empty where it could not
/// be measured.
struct MeasuredRun {
  std::size_t input = 0, condition = 0;
  std::vector<Pass> read = {}, decode = {}, training = {};
  std::string not_measured = {};  ///< why
  bool applies = true;            ///< the condition is one of the input's: kRemote, or another
};

struct SpeedReport {
  Recipe recipe;
  std::string device;
  int workers = 0;
  reader::OrderKind remote_order = {};  ///< of inputs at URLs; all others have the recipe's
  std::vector<Condition> conditions;    ///< warm first
  std::vector<MeasuredInput> inputs;    ///< the folder first
  std::vector<Pass> device_limit;  ///< steps on made-up data that is on the device, a Pass a repeat
  std::vector<MeasuredRun> runs;   ///< by condition, then by input
  std::uint64_t device_memory_bytes = 0;  ///< peak on the GPU; 0 on the CPU
  const MeasuredRun& run(std::size_t condition, std::size_t input) const {
    return runs[condition * inputs.size() + input];
  }
  /// What runs under a condition are compared with: the folder's, which is warm beside kRemote.
  const MeasuredRun& folder_run(std::size_t condition) const {
    return run(conditions[condition].kind == Condition::Kind::kRemote ? 0 : condition, 0);
  }
};

/// Measures all inputs, warm and under each other condition asked for, and those at URLs as kRemote
/// (after enable_remote() without a cache, which would keep what came): reading only, reading and
/// decoding, and training with a fresh model of the same seed. Repeats are interleaved (A B C A B C
/// ...), so that a slow minute of the machine hits all inputs. An input that cannot be made cold is
/// reported as not measured. `note` is told what is under way. Throws Error.
SpeedReport measure(const MeasureOptions& options,
                    const std::function<void(const std::string&)>& note = {},
                    std::stop_token stop = {});

/// Where the seconds of an epoch go, split as in DS-Analyzer (Mohan et al. 2021), with one part
/// more for a device that shares its cores with the loader. Each part has a clock of its own;
/// `other_s` is the time that none of them covers.
struct Attribution {
  double epoch_s = 0;
  double device_s = 0;       ///< time of the steps on made-up data
  double sharing_s = 0;      ///< extra time of steps beside the loading; noise may make it negative
  double preparation_s = 0;  ///< waiting for data although all is in the page cache
  double fetch_s = 0;        ///< waiting beyond that: for the storage
  double other_s = 0;
};

/// Compares the repeat with the median speed with those of the device limit and of the warm passes:
/// for kRemote, those of a local input of the same name; if there is none, all waiting counts as
/// `fetch_s`. Zeros for what was not measured.
Attribution attribute(const SpeedReport& report, const MeasuredRun& run);

/// The speeds of some passes, one per repeat.
reader::Spread images_per_s(const std::vector<Pass>& passes);
/// The spread of any other figure of the passes.
reader::Spread spread_of(const std::vector<Pass>& passes,
                         const std::function<double(const Pass&)>& figure);
/// Whether the repeats spread over more than 10 % of their median.
bool is_noisy(const reader::Spread& spread);

/// The result of comparing two speeds by their repeats.
enum class Told {
  kNot,     ///< too few repeats, or they overlap
  kFaster,  ///< faster, by 2 % or more
  kSlower,  ///< slower, by 2 % or more
  kAlike,   ///< the difference is below 2 %
};
struct Comparison {
  double ratio = 0;            ///< of the medians
  double least = 0, most = 0;  ///< slowest repeat to the other's fastest, and the reverse
  std::size_t repeats = 0;
  Told told = Told::kNot;
};
/// Fewer repeats show nothing. With this many or more, two speeds differ if every repeat of one is
/// faster than every repeat of the other. If n and n repeats have the same speed, that happens by
/// chance, in either direction, in 2 of (2n over n) measurements: 1 of 126 with five. This holds
/// for any distribution of speeds, and a drifting machine makes it rarer, because repeats are
/// interleaved.
inline constexpr std::size_t kEnoughRepeats = 5;
/// A smaller difference is not worth mentioning.
inline constexpr double kNoticeable = 1.02;
Comparison compare(const std::vector<Pass>& passes, const std::vector<Pass>& base);

/// How the work on an input compares with the folder's.
enum class SameWork {
  kYes,           ///< packed as it is
  kLessDecoding,  ///< the same pixels with less decoding: roi
  kOtherPixels,   ///< resize, raw
};
SameWork same_work(const MeasuredInput& input);

/// The headline, one line per condition, slow storage first: the speed of the packed input with the
/// fastest training, of those packed as they are, relative to the folder's.
std::vector<std::string> io_speedups(const SpeedReport& report);

/// Says in sentences what the figures mean: for each condition its limit, and what packing gains or
/// loses as far as compare() can tell. Names CPUs that others used, warm inputs of which the disk
/// delivered more than 1 %, and epochs too short to stand for those of a larger folder.
std::vector<std::string> verdict(const SpeedReport& report);

/// "folder", or format and image mode, and "at a URL" if it lies there.
std::string input_name(const reader::Dataset& dataset);
/// Describes everything but the name.
MeasuredInput describe_input(const std::filesystem::path& path, const reader::Dataset& dataset);
/// The network's own settings, changed by what the options ask for.
Recipe recipe_for(const MeasureOptions& options);
/// The same, with a batch no larger than the dataset.
Recipe recipe_for(const MeasureOptions& options, const reader::Dataset& dataset);

/// Names the device that the steps ran on.
std::string device_text(const MeasureOptions& options);

}  // namespace packhorse::trainer
