#include "packhorse/trainer/pack_all.h"

#include <fmt/format.h>

#include <chrono>

#include "packhorse/error.h"
#include "packhorse/format.h"
#include "packhorse/pack.h"
#include "packhorse/reader/measure.h"
#include "packhorse/transform.h"

namespace packhorse::trainer {
namespace {

PackingCost pack_one(const PackAllOptions& options, const std::string& format,
                     const std::string& mode, const std::stop_token& stop) {
  PackingCost cost{.path = options.scratch / fmt::format("{}-{}", format, mode),
                   .format = format,
                   .image_mode = mode};
  if (std::filesystem::exists(cost.path)) {
    cost.was_there = true;
    return cost;
  }
  const double cpu_before = reader::process_usage().cpu_s;
  const auto begin = std::chrono::steady_clock::now();
  PackOptions packing{.format = format};
  packing.image = mode;
  const PackReport report = pack(options.folder, cost.path, packing, nullptr, stop);
  if (!report.published) {
    throw Error(
        ErrorKind::kCorrupt,
        fmt::format("{} of its pictures cannot be packed with --image {}",
                    report.accounting.rejected, mode),
        options.folder,
        "See which in " + report.rejects_file.string() + ", or leave that mode out with --modes.");
  }
  cost.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  cost.cpu_s = reader::process_usage().cpu_s - cpu_before;
  cost.bytes_in = report.bytes_in;
  cost.bytes_out = report.bytes_out;
  return cost;
}

}  // namespace

std::vector<PackingCost> pack_all(const PackAllOptions& options,
                                  const std::function<void(const std::string&)>& note,
                                  std::stop_token stop) {
  std::vector<std::string> formats = options.formats, modes = options.image_modes;
  if (formats.empty())
    for (const Format* format : all_formats()) formats.emplace_back(format->name);
  if (modes.empty())
    for (const TransformKind& mode : all_transforms()) modes.emplace_back(mode.name);
  std::filesystem::create_directories(options.scratch);
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
