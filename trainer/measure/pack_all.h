#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/image/image_info.h"
#include "packhorse/trainer/recipe/recipe.h"

namespace packhorse::trainer {

struct PackAllOptions {
  std::filesystem::path folder;
  std::filesystem::path scratch;          ///< the datasets become folders in it: "wds-roi", ...
  std::vector<std::string> formats = {};  ///< empty: all that packhorse writes
  /// Empty: all; where `limits` take bands, those that make no colours of 8 bits.
  std::vector<std::string> image_modes = {};
  int side = 256;           ///< shorter side for resize, both for raw, in pixels
  ImageLimits limits = {};  ///< pictures beyond cannot be packed
};

/// A dataset packed to be measured, and the cost of packing it.
struct PackingCost {
  std::filesystem::path path;
  std::string format, image_mode;
  std::string settings = {};  ///< of the image mode, e.g. "size=256 fit=crop"
  bool was_there = false;     ///< from an earlier run, so its cost is unknown
  double seconds = 0, cpu_s = 0;
  std::uint64_t bytes_in = 0, bytes_out = 0;
};

/// The image side for `recipe`. Where it takes random crops, the side leaves room for them: 8/7 of
/// the network's input, as 256 is for 224. Otherwise it is the input's own.
int side_for(const Recipe& recipe);

/// Packs the folder into every format and image mode, one after another with all CPUs. Takes those
/// that exist already. `note` is told what is under way. Throws Error: what pack() throws; kCorrupt
/// when pictures are rejected, since an incomplete dataset cannot be compared; kExists when an
/// existing dataset was packed with other settings.
std::vector<PackingCost> pack_all(const PackAllOptions& options,
                                  const std::function<void(const std::string&)>& note = {},
                                  std::stop_token stop = {});

}  // namespace packhorse::trainer
