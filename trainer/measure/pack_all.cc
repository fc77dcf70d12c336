#include "measure/pack_all.h"

#include <fmt/format.h>

#include <chrono>

#include "base/file.h"
#include "formats/format.h"
#include "measure/measurement.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/packing/pack.h"
#include "transforms/transform.h"

namespace packhorse::trainer {
namespace {

/// Throws unless the dataset at `path` was packed in the wanted mode with these settings.
void check_settings(const std::filesystem::path& path, const PackingCost& wanted) {
  for (const std::filesystem::path& dataset : find_datasets(path)) {
    const Manifest manifest = Manifest::load(dataset);
    if (manifest.image == wanted.image_mode && manifest.image_settings == wanted.settings) continue;
    throw Error(ErrorKind::kExists,
                fmt::format("it was packed with `image={}` {}, not {} {}", manifest.image,
                            manifest.image_settings, wanted.image_mode, wanted.settings),
                dataset, "remove it, or name another folder with `scratch=`");
  }
}

PackingCost pack_one(const PackAllOptions& options, const std::string& format,
                     const std::string& mode, const std::stop_token& stop) {
  PackingCost cost{.path = options.scratch / fmt::format("{}-{}", format, mode),
                   .format = format,
                   .image_mode = mode};
  PackOptions packing{.format = format, .image = mode};
  packing.limits = options.limits;
  packing.transform.short_side = packing.transform.size = options.side;
  cost.settings = find_transform(mode).settings(packing.transform);
  if (std::filesystem::exists(cost.path)) {
    check_settings(cost.path, cost);
    cost.was_there = true;
    return cost;
  }
  const double cpu_before = reader::process_usage().cpu_s;
  const auto begin = std::chrono::steady_clock::now();
  const PackReport report = pack(options.folder, cost.path, packing, nullptr, stop);
  if (!report.published) {
    throw Error(
        ErrorKind::kCorrupt,
        fmt::format("{} of its images cannot be packed with `image={}`", report.accounting.rejected,
                    mode),
        options.folder,
        "see which in " + report.rejects_file.string() + ", or leave that mode out with `modes=`");
  }
  cost.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  cost.cpu_s = reader::process_usage().cpu_s - cpu_before;
  cost.bytes_in = report.bytes_in;
  cost.bytes_out = report.bytes_out;
  return cost;
}

}  // namespace

int side_for(const Recipe& recipe) {
  return recipe.augment == AugmentKind::kRandomResizedCrop ? (8 * recipe.image_size + 6) / 7
                                                           : recipe.image_size;
}

std::vector<PackingCost> pack_all(const PackAllOptions& options,
                                  const std::function<void(const std::string&)>& note,
                                  std::stop_token stop) {
  std::vector<std::string> formats = options.formats, modes = options.image_modes;
  if (formats.empty())
    for (const Format* format : all_formats()) formats.emplace_back(format->name);
  if (modes.empty()) {
    for (const TransformKind& mode : all_transforms())
      if (!options.limits.bands || !mode.decodes) modes.emplace_back(mode.name);
  }
  make_directories(options.scratch);
  std::vector<PackingCost> costs;
  for (const std::string& format : formats) {
    for (const std::string& mode : modes) {
      if (note) note(fmt::format("packing {} {}", format, mode));
      costs.push_back(pack_one(options, format, mode, stop));
    }
  }
  return costs;
}

}  // namespace packhorse::trainer
