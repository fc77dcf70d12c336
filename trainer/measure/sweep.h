#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "measure/measure.h"

/// Finds how many reader threads, and how many batches ahead, a training needs.
namespace packhorse::trainer {

struct SweepOptions {
  /// Recipe, device, repeats, length of a pass. Members that name inputs and conditions, such as
  /// `folder` and `packed`, are ignored.
  MeasureOptions measure;
  std::filesystem::path data;
  Condition condition = {};
  std::vector<int> workers = {};  ///< empty: 1, 2, 4, ... to twice the CPUs
  std::vector<int> slots = {2, 4, 8};
};

struct SweepSetting {
  int workers = 0, slots = 0;
  std::vector<Pass> passes;         ///< training, one per repeat
  std::uint64_t batches_bytes = 0;  ///< memory of the slots
  std::uint64_t memory_bytes = 0;   ///< memory of this process, without the files it has mapped
  double images_per_s() const { return trainer::images_per_s(passes).median; }
  double wait_share() const;
};

struct SweepReport {
  Recipe recipe;
  std::string device;
  Condition condition;
  MeasuredInput input;
  std::vector<Pass> device_limit;
  std::vector<SweepSetting> settings;
  std::vector<std::string> left_out;  ///< settings that were not tried, and why
  int cpus = 0;
  std::uint64_t memory_available = 0;  ///< available to this process at the start
};

/// The recommended setting.
struct Recommendation {
  std::size_t setting = 0;    ///< the fewest workers, then slots, within 5 % of the best
  bool still_rising = false;  ///< the setting has the most workers that were tried
  std::string reason;
};

/// Trains with each number of workers and slots, in turns. Leaves out settings that would take more
/// than a quarter of the available memory. Throws Error.
SweepReport sweep(const SweepOptions& options,
                  const std::function<void(const std::string&)>& note = {},
                  std::stop_token stop = {});
Recommendation recommend(const SweepReport& report);

/// Memory of this process that each further reader thread took, from the fewest to the most tried
/// with the same slots; 0 when only one number was tried.
std::uint64_t memory_per_worker(const SweepReport& report);

}  // namespace packhorse::trainer
