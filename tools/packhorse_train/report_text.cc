#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/printable.h"
#include "common/storage.h"
#include "common/terminal.h"
#include "report_json.h"

namespace packhorse::trainer {
namespace {

using program::with_commas;
using Table = std::vector<std::vector<std::string>>;
using Figure = std::function<double(const Pass&)>;

std::string rounded(double value) {
  if (value >= 100) return with_commas(static_cast<std::uint64_t>(value + 0.5));
  return fmt::format("{:.1f}", value);
}

/// The median, marked when the repeats lie far apart.
std::string marked(const reader::Spread& spread) {
  return rounded(spread.median) + (is_noisy(spread) ? "~" : " ");
}

std::string rate_text(const std::vector<Pass>& passes) { return marked(images_per_s(passes)); }

double median(const std::vector<Pass>& passes, const Figure& figure) {
  return spread_of(passes, figure).median;
}

std::string ratio_text(const std::vector<Pass>& passes, const std::vector<Pass>& base) {
  if (base.empty()) return "";
  return fmt::format("{:.2f}x", images_per_s(passes).median / images_per_s(base).median);
}

bool is_other_work(const MeasuredInput& input) { return same_work(input) != SameWork::kYes; }

std::string condition_text(const Condition& condition) {
  switch (condition.kind) {
    case Condition::Kind::kCold:
      return std::string("cold: dropped from the page cache before each pass, ") +
             (condition.names_dropped ? "with names and inodes"
                                      : "except for names and inodes, which only root can drop");
    case Condition::Kind::kRemote:
      return "remote: from a URL, with nothing kept";
    case Condition::Kind::kSimulated:
      break;
    case Condition::Kind::kWarm:
      return "warm: from the page cache";
  }
  const reader::StorageModel& storage = condition.storage;
  std::string text = fmt::format("{}: simulated storage", storage.name);
  if (!storage.stands_for.empty()) text += fmt::format(", {}", storage.stands_for);
  return text + ": " + program::delays_text(storage);
}

Table speed_table(const SpeedReport& report, std::size_t condition) {
  Table rows = {{"images/s", "read ", "read+decode ", "training ", "waiting", "vs folder: read",
                 "read+decode", "training"}};
  const MeasuredRun& folder = report.folder_run(condition);
  for (std::size_t input = 0; input < report.inputs.size(); ++input) {
    const MeasuredRun& run = report.run(condition, input);
    if (!run.applies) continue;
    const std::string& name = report.inputs[input].name;
    if (run.training.empty()) {
      rows.push_back({name, "not measured"});
      continue;
    }
    const double wait =
        median(run.training, [](const Pass& pass) { return pass.wait_s / pass.seconds; });
    rows.push_back({name + (is_other_work(report.inputs[input]) ? " *" : ""), rate_text(run.read),
                    rate_text(run.decode), rate_text(run.training),
                    fmt::format("{:.1f} %", 100 * wait), ratio_text(run.read, folder.read),
                    ratio_text(run.decode, folder.decode),
                    ratio_text(run.training, folder.training)});
  }
  return rows;
}

Table detail_table(const SpeedReport& report, std::size_t condition) {
  Table rows = {{"training", "MB/s", "disk kB/image", "CPU s/1000", "first batch s", "step p50 ms",
                 "p99 ms", "epoch s =", "device", "+ sharing", "+ preparing", "+ fetching",
                 "+ other"}};
  for (std::size_t input = 0; input < report.inputs.size(); ++input) {
    const MeasuredRun& run = report.run(condition, input);
    if (run.training.empty()) continue;
    const auto figure = [&](const char* format, const Figure& of) {
      return fmt::format(fmt::runtime(format), median(run.training, of));
    };
    const auto images = [](const Pass& pass) { return static_cast<double>(pass.images); };
    const Attribution parts = attribute(report, run);
    std::vector<std::string> row = {
        report.inputs[input].name,
        figure("{:.1f}",
               [](const Pass& p) { return 1e-6 * static_cast<double>(p.bytes) / p.seconds; }),
        figure("{:.1f}", [](const Pass& p) { return 1e-3 * p.disk_bytes_per_image(); }),
        figure("{:.2f}", [&](const Pass& p) { return 1e3 * p.cpu_s / images(p); }),
        figure("{:.3f}", [](const Pass& p) { return p.first_batch_s; }),
        figure("{:.1f}", [](const Pass& p) { return reader::percentile(p.batch_ms, 0.5); }),
        figure("{:.1f}", [](const Pass& p) { return reader::percentile(p.batch_ms, 0.99); })};
    for (const double seconds : {parts.epoch_s, parts.device_s, parts.sharing_s,
                                 parts.preparation_s, parts.fetch_s, parts.other_s}) {
      row.push_back(fmt::format("{:.2f}", std::round(100 * seconds) / 100 + 0.0));  // no -0.00
    }
    rows.push_back(row);
  }
  return rows;
}

std::string packing_text(const std::vector<PackingCost>& packing) {
  if (packing.empty()) return "";
  Table rows = {{"packing", "seconds", "CPU s", "in", "out", "settings"}};
  for (const PackingCost& cost : packing) {
    const std::string name = fmt::format("{} {}", cost.format, cost.image_mode);
    if (cost.was_there) {
      rows.push_back({name, "already packed", "", "", "", cost.settings});
    } else {
      rows.push_back({name, fmt::format("{:.1f}", cost.seconds), fmt::format("{:.1f}", cost.cpu_s),
                      program::bytes_text(cost.bytes_in), program::bytes_text(cost.bytes_out),
                      cost.settings});
    }
  }
  return program::table_text(rows) + "\n";
}

std::string header_text(const Recipe& recipe, const std::string& device, int repeats,
                        const std::vector<Pass>& device_limit) {
  const double limit = images_per_s(device_limit).median;
  return fmt::format("{} at {} px on {}, batch {}, {}; the device alone takes {} images/s\n",
                     recipe.arch, recipe.image_size, device, recipe.batch_size,
                     program::count_text(static_cast<std::uint64_t>(repeats), "repeat"),
                     rounded(limit));
}

}  // namespace

std::string measurement_text(const SpeedReport& report, const MeasureOptions& options,
                             const std::vector<PackingCost>& packing) {
  std::string text;
  for (const std::string& line : io_speedups(report)) text += printable_text(line) + "\n";
  text += "\n" + packing_text(packing);
  text += header_text(report.recipe, report.device, options.repeats, report.device_limit);
  text +=
      fmt::format("{}, {} batches in memory, {} order; medians; ~ marks a spread above 10 %\n",
                  program::count_text(static_cast<std::uint64_t>(report.workers), "reader thread"),
                  options.slots, name_of(report.recipe.order));
  if (std::ranges::any_of(report.inputs, is_other_work)) {
    text +=
        "* not the same work as the folder's: roi decodes less for the same pixels, resize and raw "
        "have different pixels\n";
  }
  for (std::size_t at = 0; at < report.conditions.size(); ++at) {
    text += "\n" + printable_text(condition_text(report.conditions[at]));
    if (report.conditions[at].kind == Condition::Kind::kRemote)
      text += fmt::format(", in {} order; the folder that it is compared with is in the page cache",
                          name_of(report.remote_order));
    text += "\n";
    text += program::table_text(speed_table(report, at));
    const Table details = detail_table(report, at);
    if (details.size() > 1) text += "\n" + program::table_text(details);
    for (const MeasuredRun& run : report.runs) {
      if (run.condition != at || run.not_measured.empty() || !run.applies) continue;
      text += printable_text(fmt::format("not measured: {}: {}", report.inputs[run.input].name,
                                         run.not_measured)) +
              "\n";
    }
  }
  text += "\n";
  for (const std::string& sentence : verdict(report)) text += printable_text(sentence) + "\n";
  return text;
}

std::string sweep_text(const SweepReport& report) {
  std::string text = header_text(report.recipe, report.device,
                                 static_cast<int>(report.device_limit.size()), report.device_limit);
  text += fmt::format("{}, {}; medians; ~ marks a spread above 10 %\n",
                      printable_text(report.input.name),
                      printable_text(condition_text(report.condition)));
  Table rows = {{"workers", "batches", "images/s ", "of the device's limit", "waiting", "memory"}};
  const Recommendation chosen = recommend(report);
  const double limit = images_per_s(report.device_limit).median;
  for (std::size_t at = 0; at < report.settings.size(); ++at) {
    const SweepSetting& setting = report.settings[at];
    rows.push_back({fmt::format("{}{}", setting.workers, at == chosen.setting ? " *" : ""),
                    std::to_string(setting.slots), rate_text(setting.passes),
                    fmt::format("{:.0f} %", 100 * setting.images_per_s() / limit),
                    fmt::format("{:.1f} %", 100 * setting.wait_share()),
                    program::bytes_text(setting.memory_bytes)});
  }
  text += program::table_text(rows);
  text += fmt::format("{} of memory is available; a reader thread takes about {}\n",
                      program::bytes_text(report.memory_available),
                      program::bytes_text(memory_per_worker(report)));
  for (const std::string& left_out : report.left_out) text += "not tried: " + left_out + "\n";
  return text + "* recommended: " + chosen.reason + "\n";
}

}  // namespace packhorse::trainer
