#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "packhorse/image/image_info.h"
#include "packhorse/reader/bad_samples.h"
#include "packhorse/reader/dataset_views.h"
#include "packhorse/trainer/checkpoint/weights.h"
#include "packhorse/trainer/device/device.h"
#include "packhorse/trainer/parallel/processes.h"
#include "packhorse/trainer/recipe/recipe.h"
#include "packhorse/trainer/watch/run_log.h"
#include "packhorse/trainer/watch/watch_options.h"

namespace packhorse::trainer {

struct FitOptions {
  std::filesystem::path data;  ///< packed dataset or class folder, with or without splits
  std::filesystem::path val;   ///< empty: the val (or test) split of `data`, if it has one
  std::string split;           ///< to train on; empty: "train" where there are splits
  /// Trains on all but this part and, without `val`, scores on this part.
  std::optional<reader::Fold> fold = {};
  RecipeChoices recipe;
  Device device;
  bool cuda_graph = false;  ///< see EngineOptions
  enum class GpuDecode { kOff, kOn, kAuto };
  GpuDecode gpu_decode = GpuDecode::kOff;  ///< on: all JPEGs; auto: the share that is fastest
  int workers = -1;                        ///< of the reader; -1 = as many as the process may use
  int slots = 4;                           ///< batches in memory, see LoaderOptions
  reader::BadSampleOptions bad_samples = {};  ///< not kLeaveOut; told by FitEvents::note
  ImageLimits limits = {};                    ///< images beyond are bad samples
  bool autotune = false;                      ///< measure how many workers pay, instead
  std::filesystem::path out;                  ///< for checkpoints and logs; empty: none are written
  std::filesystem::path init_from;            ///< weights to start with; empty: random ones
  WeightsUse init_use = {};                   ///< whether their last layer must fit, and so on
  bool resume = false;                        ///< go on from out/last.pt
  bool other_data = false;                    ///< resume in the middle of an epoch of other data
  bool overwrite = false;                     ///< start again although out/last.pt is there
  std::int64_t checkpoint_every = 0;          ///< steps; 0 = after each epoch
  int keep = 0;                               ///< the latest checkpoints kept as out/step-N.pt
  std::string after_save;      ///< shell command run for each checkpoint; see CheckpointStore
  std::int64_t max_steps = 0;  ///< in the whole run; 0 = no limit; the schedule ignores it
  WatchOptions watch = {};
  Processes* processes = nullptr;  ///< all that train together, this one included; nullptr: alone
};

/// Called from the thread that runs fit(); with several processes, only in the first.
struct FitEvents {
  std::function<void(const StepReport&)> step;
  std::function<void(const EpochLog&, int epochs)> epoch;
  std::function<void(const std::string&)> note;  ///< a sentence people should know
};

struct FitResult {
  Recipe recipe;
  std::int64_t parameters = 0;
  int processes = 1;
  int epochs = 0;  ///< finished ones
  std::int64_t steps = 0;
  std::int64_t skipped = 0;  ///< steps left out; see StepReport
  bool stopped = false;      ///< on request; the run can continue from `checkpoint`
  double images_per_s = 0;   ///< training, in this call, over all processes
  double data_wait_share = 0;
  double loss = 0;  ///< training, mean over the last epoch
  std::optional<Scores> val;
  std::filesystem::path checkpoint;  ///< empty: none was written
  double seconds = 0;                ///< of this call, evaluation included
};

/// Trains. Writes out/last.pt (after each epoch and every `checkpoint_every` steps, while training
/// goes on), out/best.pt (the epoch with the best top-1), out/log.jsonl and out/log.csv. A run
/// resumed from last.pt ends with exactly the parameters of an uninterrupted one on the CPU of the
/// same machine with the same numbers of threads and processes. On a GPU, or with another number of
/// processes, it sees exactly the samples not yet seen, and differs by rounding.
///
/// Several processes call fit() with the same options. A step's batch is split between them; the
/// first process writes and calls `events`.
///
/// When `stop` is requested in any process, all finish a step that they compute, or leave out one
/// whose batch one of them waits for; last.pt is saved, and the result says `stopped`. A stop in
/// one process does not end another's wait for a batch. Without `out`, or when only the scores of a
/// finished run were wanted, Error(kInterrupted) is thrown instead.
///
/// Throws Error: kUsage, kNotFound, kExists (out holds a run already), kCorrupt (damaged data),
/// kUnsupported (the loss is not finite), kIo (also when another process is gone), kNoSpace.
FitResult fit(const FitOptions& options, const FitEvents& events = {}, std::stop_token stop = {});

}  // namespace packhorse::trainer
