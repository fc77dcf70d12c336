#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace packhorse::trainer {

struct PackAllOptions {
  std::filesystem::path folder;
  std::filesystem::path scratch;              ///< the datasets become folders in it: "wds-roi", ...
  std::vector<std::string> formats = {};      ///< empty: all that packhorse writes
  std::vector<std::string> image_modes = {};  ///< empty: all
};

/// A dataset packed to be measured, and what that cost.
struct PackingCost {
  std::filesystem::path path;
  std::string format, image_mode;
  bool was_there = false;  ///< from an earlier run, so that nothing is known of its cost
  double seconds = 0, cpu_s = 0;
  std::uint64_t bytes_in = 0, bytes_out = 0;
};

/// Packs the folder into every format and image mode, one after another with all CPUs. Those that
/// lie there already are taken as they are. `note` hears what is under way. Throws Error, what
/// pack() throws, and kCorrupt when pictures are rejected: what lacks some cannot be compared.
std::vector<PackingCost> pack_all(const PackAllOptions& options,
                                  const std::function<void(const std::string&)>& note = {},
                                  std::stop_token stop = {});

}  // namespace packhorse::trainer
