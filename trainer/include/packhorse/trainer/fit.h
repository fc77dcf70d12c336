#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "packhorse/reader/bad_samples.h"
#include "packhorse/trainer/engine.h"
#include "packhorse/trainer/recipe.h"
#include "packhorse/trainer/run_state.h"

namespace packhorse::trainer {

struct FitOptions {
  std::filesystem::path data;  ///< packed dataset or class folder, with or without splits
  std::filesystem::path val;   ///< empty: the val (or test) split of `data`, if it has one
  std::string split;           ///< to train on; empty: "train" where there are splits
  RecipeChoices recipe;
  Device device;
  int workers = -1;  ///< of the reader; -1 = as many as the process may use
  reader::BadSampleOptions bad_samples = {};  ///< replaced ones are told by FitEvents::note
  bool autotune = false;                      ///< measure how many workers pay, instead
  std::filesystem::path out;                  ///< for checkpoints and logs; empty: none are written
  std::filesystem::path init_from;            ///< weights to start with; empty: random ones
  Head init_head = Head::kMustFit;            ///< whether their last layer must fit
  bool resume = false;                        ///< go on from out/last.pt
  bool overwrite = false;                     ///< start anew although out/last.pt is there
  std::int64_t checkpoint_every = 0;          ///< steps; 0 = after each epoch
  std::int64_t max_steps = 0;  ///< of the whole run, 0 = no limit; the schedule does not see it
};

/// Now and then during an epoch.
struct StepReport {
  int epoch = 0, epochs = 0;         ///< counted from 1
  std::int64_t step = 0, steps = 0;  ///< in the epoch
  double loss = 0, lr = 0, images_per_s = 0, data_wait_share = 0;
};

/// Called from the thread that runs fit().
struct FitEvents {
  std::function<void(const StepReport&)> step;
  std::function<void(const EpochLog&, int epochs)> epoch;
  std::function<void(const std::string&)> note;  ///< a sentence people should know
};

struct FitResult {
  Recipe recipe;
  std::int64_t parameters = 0;
  int epochs = 0;  ///< finished ones
  std::int64_t steps = 0;
  double images_per_s = 0;  ///< training, in this call
  double data_wait_share = 0;
  double loss = 0;  ///< training, mean over the last epoch
  std::optional<Scores> val;
  std::filesystem::path checkpoint;  ///< empty: none was written
  double seconds = 0;                ///< of this call, evaluation included
};

/// Trains. Writes out/last.pt (after each epoch and every `checkpoint_every` steps), out/best.pt
/// (the epoch with the best top-1), out/log.jsonl and out/log.csv. A run resumed from last.pt ends
/// with exactly the parameters of one that was not stopped, on the same machine with the same
/// number of threads.
///
/// When `stop` is requested the step is finished, last.pt saved and Error(kInterrupted) thrown.
/// Throws Error: kUsage, kNotFound, kExists (out holds a run already), kCorrupt (damaged data),
/// kUnsupported (the loss is not finite), kIo, kNoSpace.
FitResult fit(const FitOptions& options, const FitEvents& events = {}, std::stop_token stop = {});

}  // namespace packhorse::trainer
