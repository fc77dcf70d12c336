#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/reader/measure.h"
#include "packhorse/trainer/device.h"
#include "packhorse/trainer/recipe.h"

namespace packhorse::trainer {

struct MeasureOptions {
  std::filesystem::path folder;
  std::vector<std::filesystem::path> packed;
  std::string split;  ///< empty: "train" where there are splits
  RecipeChoices recipe;
  Device device;
  int workers = -1;
  std::int64_t steps = 50;        ///< timed training steps of one repeat
  std::int64_t warmup_steps = 3;  ///< before them, not timed
  int repeats = 3;
  double max_read_seconds =
      5;  ///< of one reading or decoding pass; a whole epoch if that is shorter
};

/// One input: the folder, or a packed dataset. Images per second over the repeats.
struct InputSpeed {
  std::filesystem::path input;
  std::string format, image_mode;
  std::uint64_t samples = 0;
  reader::Spread read, decode, training;
  double wait_share = 0;  ///< median share of the training time spent waiting for data, 0..1
  double loss = 0;        ///< mean of the last repeat's steps: proof that training happened
};

struct SpeedReport {
  Recipe recipe;
  std::string device;
  int workers = 0;
  std::vector<InputSpeed> inputs;  ///< the folder first
};

/// The same work on a folder and on packed datasets of it, from a warm page cache: reading only,
/// reading and decoding, and training with a fresh model of the same seed. Repeats are interleaved
/// (folder, packed 1, packed 2, folder, ...), so that a slow minute of the machine hits all inputs.
/// `note` hears what is under way. Throws Error.
SpeedReport measure(const MeasureOptions& options,
                    const std::function<void(const std::string&)>& note = {},
                    std::stop_token stop = {});

}  // namespace packhorse::trainer
