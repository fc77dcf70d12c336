#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/printable.h"
#include "bench/request.h"
#include "bench/run.h"
#include "common/storage.h"
#include "common/terminal.h"

namespace packhorse::bench {

using program::with_commas;
using reader::CacheState;
using reader::Measurement;

namespace {

using Rows = std::vector<std::vector<std::string>>;

// A warm pass may read this share from the disk, since the kernel may take pages back at any time.
constexpr double kWarmShare = 0.05;

std::string rate_text(double per_s) { return with_commas(static_cast<std::uint64_t>(per_s + 0.5)); }

std::string percent_text(double part, double whole) {
  return fmt::format("{:.0f} %", whole > 0 ? 100 * part / whole : 0.0);
}

std::string short_time(double seconds) {
  if (seconds <= 0) return "0 us";
  if (seconds < 1e-5) return fmt::format("{:.2f} us", seconds * 1e6);
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.1f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

std::string section_name(const Section& section) {
  return fmt::format("{}, {}", name_of(section.work), place_of(section));
}

/// Says what becomes of the pictures, where it is not what is usual.
std::string augment_text(const Request& request, const std::vector<const Run*>& runs) {
  const bool usual =
      request.augment == Request{}.augment && !request.targets && request.pixel_steps.empty();
  if (usual || runs.front()->section.work == reader::Work::kRead) return {};
  const reader::ImageSize size = size_of(request.augment, request.size);
  std::string text = fmt::format("{}, {} x {} pixels", request.augment, size.height, size.width);
  if (!request.pixel_steps.empty()) text += ", " + text_of(request.pixel_steps);
  if (request.targets) {
    text += ", objects an image:";
    for (const Run* run : runs) {
      const Measurement& pass = run->median_pass();
      text += fmt::format(" {:.1f}",
                          static_cast<double>(pass.objects) / static_cast<double>(pass.images));
    }
  }
  return text + "\n";
}

std::string order_text(const std::vector<const Run*>& runs) {
  const bool alike =
      std::ranges::all_of(runs, [&](const Run* run) { return run->order == runs.front()->order; });
  return alike ? std::string(reader::name_of(runs.front()->order)) + " order" : "usual orders";
}

std::string title_text(const Request& request, const std::vector<const Run*>& runs) {
  const std::uint64_t size = runs.front()->samples;
  std::string text =
      fmt::format("{}, {}, {}, {}\n", section_name(runs.front()->section), order_text(runs),
                  program::count_text(
                      request.max_images > 0 ? std::min(request.max_images, size) : size, "image"),
                  program::count_text(static_cast<std::uint64_t>(request.repeats), "repeat"));
  text += augment_text(request, runs);
  if (const auto& storage = runs.front()->section.storage)
    text += fmt::format("simulated: {}\n", program::delays_text(*storage));
  if (runs.front()->section.cache == CacheState::kCold && !reader::can_drop_names())
    text += "file names and inodes stayed in memory: only root can drop them\n";
  return text;
}

std::string rates_text(const std::vector<const Run*>& runs) {
  Rows rows = {
      {"input", "format", "workers", "img/s", "spread", "img/CPU-s", "MB/s", "disk", "vs first"}};
  for (const Run* run : runs) {
    const reader::Spread rate = run->rate();
    const Measurement& pass = run->median_pass();
    rows.push_back({printable(run->input), run->format, std::to_string(run->workers),
                    rate_text(rate.median), percent_text(rate.max - rate.min, rate.median),
                    rate_text(pass.cpu_s > 0 ? static_cast<double>(pass.images) / pass.cpu_s : 0),
                    fmt::format("{:.0f}", static_cast<double>(pass.bytes) / pass.seconds / 1e6),
                    program::bytes_text(pass.disk_bytes),
                    fmt::format("{:.2f}x", rate.median / runs.front()->rate().median)});
  }
  return program::table_text(rows);
}

struct StageColumn {
  const char* name;
  double Stages::*seconds;
};
constexpr std::array kStageColumns = {
    StageColumn{"read", &Stages::read}, StageColumn{"decode", &Stages::decode},
    StageColumn{"slot wait", &Stages::slot_wait}, StageColumn{"rest", &Stages::rest}};

/// Time and share of each stage that occurs in any of the runs.
std::string stages_text(const std::vector<const Run*>& runs) {
  Rows rows = {{"time per image", "workers"}};
  for (const Run* run : runs) rows.push_back({printable(run->input), std::to_string(run->workers)});
  for (const StageColumn& column : kStageColumns) {
    if (std::ranges::all_of(runs,
                            [&](const Run* run) { return stages_of(*run).*column.seconds <= 0; }))
      continue;
    rows.front().emplace_back(column.name);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const Stages stages = stages_of(*runs[i]);
      const auto samples = static_cast<double>(runs[i]->median_pass().counters.samples);
      rows[i + 1].push_back(fmt::format("{} {:>4}", short_time(stages.*column.seconds / samples),
                                        percent_text(stages.*column.seconds, stages.total())));
    }
  }
  return program::table_text(rows);
}

std::string batches_text(const std::vector<const Run*>& runs) {
  Rows rows = {{"time per batch", "workers", "p50", "p99", "first"}};
  for (const Run* run : runs) {
    const Measurement& pass = run->median_pass();
    rows.push_back({printable(run->input), std::to_string(run->workers),
                    short_time(reader::percentile(pass.batch_ms, 0.5) * 1e-3),
                    short_time(reader::percentile(pass.batch_ms, 0.99) * 1e-3),
                    short_time(pass.first_batch_s)});
  }
  return program::table_text(rows);
}

/// Says which passes were meant to be warm and were not.
std::string doubts_text(const std::vector<const Run*>& runs) {
  std::string text;
  for (const Run* run : runs) {
    const Measurement& pass = run->median_pass();
    const auto from_disk = static_cast<double>(pass.disk_bytes);
    if (run->section.cache != CacheState::kWarm || run->section.storage ||
        from_disk <= kWarmShare * static_cast<double>(pass.bytes))
      continue;
    text += fmt::format("not warm: {} of {} came from the disk\n",
                        program::one_line(run->input, 60), program::bytes_text(pass.disk_bytes));
  }
  return text;
}

/// Says what windows cost in randomness. The other orders are fully random or not random at all.
std::string shuffle_text(const std::vector<const Run*>& runs) {
  std::string text;
  for (const Run* run : runs) {
    if (reader::order_in(run->order, 0) != reader::OrderKind::kWindow) continue;
    const reader::ShuffleQuality& shuffle = run->passes.front().shuffle;
    text += fmt::format(
        "mixing of {}: stored neighbours meet in a batch {:.1f} times as often as in a global "
        "shuffle, a batch has {:.0f} % of its classes\n",
        program::one_line(run->input, 60), shuffle.neighbours, 100 * shuffle.classes);
  }
  return text;
}

/// Says what each pass fetched. What another run fetched before is in the cache.
std::string remote_text(const std::vector<const Run*>& runs) {
  std::string text;
  for (const Run* run : runs) {
    for (std::size_t pass = 0; pass < run->remote.size(); ++pass) {
      const RemoteCounters& fetched = run->remote[pass];
      text += fmt::format("fetched for {}, pass {}: {} in {}, {} repeated\n",
                          program::one_line(run->input, 60), pass + 1,
                          program::bytes_text(fetched.storage.bytes),
                          program::count_text(fetched.storage.requests, "request"),
                          with_commas(fetched.storage.retries));
    }
  }
  return text;
}

std::string bad_text(const std::vector<const Run*>& runs) {
  std::string text;
  for (const Run* run : runs) {
    const std::uint64_t bad = run->median_pass().counters.bad_samples;
    if (bad == 0) continue;
    text +=
        fmt::format("replaced in {}: {} (`packhorse inspect --verify full --decode` lists them)\n",
                    program::one_line(run->input, 60), program::count_text(bad, "bad image"));
  }
  return text;
}

std::string knees_text(const std::vector<Run>& runs) {
  std::string text;
  for (const RunKnee& knee : knees_of(runs)) {
    text += fmt::format("knee of {} ({}): {}\n", program::one_line(knee.run->input, 60),
                        section_name(knee.run->section), knee.reason);
  }
  return text.empty() ? text : "\n" + text;
}

/// A line for each input, its best rate in each section.
std::string overview_text(const Request& request, const std::vector<Run>& runs) {
  const std::vector<Section> sections = sections_of(request);
  if (sections.size() < 2) return {};
  Rows rows = {{"best img/s", "format", "image"}};
  for (const Section& section : sections) rows.front().push_back(section_name(section));
  for (const std::string& input : request.inputs) {
    const auto of_input = [&](const Run& run) { return run.input == input; };
    const auto any = std::ranges::find_if(runs, of_input);
    rows.push_back({program::one_line(input, 60), any->format, any->image});
    for (const Section& section : sections) {
      double best = 0;
      for (const Run* run : runs_in(runs, section))
        if (of_input(*run)) best = std::max(best, run->rate().median);
      rows.back().push_back(rate_text(best));
    }
  }
  return "\n" + program::table_text(rows);
}

}  // namespace

std::string report_text(const Request& request, const std::vector<Run>& runs) {
  std::string text;
  for (const Section& section : sections_of(request)) {
    const std::vector<const Run*> shown = runs_in(runs, section);
    text += (text.empty() ? "" : "\n") + title_text(request, shown) + rates_text(shown) + "\n" +
            stages_text(shown) + "\n" + batches_text(shown) + doubts_text(shown) + bad_text(shown) +
            shuffle_text(shown) + remote_text(shown);
  }
  return text + knees_text(runs) + overview_text(request, runs);
}

}  // namespace packhorse::bench
