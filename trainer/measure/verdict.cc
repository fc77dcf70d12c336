#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/option.h"
#include "measure/measure.h"

namespace packhorse::trainer {
namespace {

/// A shorter stall, as a share of the epoch, is not worth mentioning.
constexpr double kWorthwhile = 0.05;
/// Largest share of an epoch that may pass until its first batch arrives.
constexpr double kShortEpoch = 0.05;
/// Largest share of a warm pass's bytes that may come from the disk.
constexpr double kStray = 0.01;
/// Largest share of the CPUs that others may use: on average, and in a single pass.
constexpr double kForeignMean = 0.05, kForeignPass = 0.25;

Comparison training_of(const MeasuredRun& run, const MeasuredRun& folder) {
  return compare(run.training, folder.training);
}

/// The share of bytes that came from the disk in a warm input's passes, for the kind of work with
/// the largest share. The first repeat does not count, since the process loads its own pages during
/// it.
double disk_share(const MeasuredRun& run) {
  double share = 0;
  for (const std::vector<Pass>* passes : {&run.read, &run.decode, &run.training}) {
    if (passes->size() < 2) continue;
    const reader::Spread of_work =
        spread_of({passes->begin() + 1, passes->end()}, [](const Pass& pass) {
          return pass.disk_bytes_per_image() * static_cast<double>(pass.images) /
                 static_cast<double>(std::max<std::uint64_t>(1, pass.bytes));
        });
    share = std::max(share, of_work.median);
  }
  return share;
}

/// The input with the fastest training among those with `work`, of those that are surely faster
/// than the folder if there are any; nullptr: none was measured.
const MeasuredRun* fastest(const SpeedReport& report, std::size_t condition, SameWork work) {
  const MeasuredRun* best = nullptr;
  bool best_is_sure = false;
  for (std::size_t input = 1; input < report.inputs.size(); ++input) {
    const MeasuredRun& run = report.run(condition, input);
    if (run.training.empty() || same_work(report.inputs[input]) != work) continue;
    const bool sure = training_of(run, report.folder_run(condition)).told == Told::kFaster;
    if (best != nullptr && (sure != best_is_sure ? best_is_sure
                                                 : images_per_s(run.training).median <=
                                                       images_per_s(best->training).median))
      continue;
    best = &run;
    best_is_sure = sure;
  }
  return best;
}

/// The load of others on the CPUs during all passes; what it is while nothing was measured: 0.
struct ForeignLoad {
  double mean = 0, most = 0;  ///< CPUs
  double pressure = 0;        ///< share of the time in which some task waited for a CPU
  double cpus = 0;            ///< there are
  bool known = false, pressure_known = false;
};

ForeignLoad foreign_load(const SpeedReport& report) {
  std::vector<double> foreign, pressure;
  ForeignLoad found;
  const auto look = [&](const std::vector<Pass>& passes) {
    for (const Pass& pass : passes) {
      if (pass.load.foreign_cpus) foreign.push_back(*pass.load.foreign_cpus);
      if (pass.load.pressure) pressure.push_back(*pass.load.pressure);
      found.cpus = std::max<double>(found.cpus, pass.load.cpus);
    }
  };
  look(report.device_limit);
  for (const MeasuredRun& run : report.runs)
    for (const std::vector<Pass>* passes : {&run.read, &run.decode, &run.training}) look(*passes);
  const auto mean = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  found.known = !foreign.empty();
  if (found.known) {
    found.mean = mean(foreign);
    found.most = *std::ranges::max_element(foreign);
  }
  found.pressure_known = !pressure.empty();
  if (found.pressure_known) found.pressure = mean(pressure);
  return found;
}

/// Words such as "from the disk".
std::string place_text(const SpeedReport& report, std::size_t condition) {
  const Condition& at = report.conditions[condition];
  if (at.kind == Condition::Kind::kCold)
    return fmt::format("from the disk ({})", report.inputs[0].file_system);
  if (at.kind == Condition::Kind::kSimulated) return "from simulated " + at.storage.name;
  if (at.kind == Condition::Kind::kRemote) return "from a URL";
  return "from the page cache";
}

std::string speedup_text(const std::vector<Pass>& passes, const std::vector<Pass>& base) {
  const Comparison speed = compare(passes, base);
  return fmt::format("{:.2f}x{}", speed.ratio,
                     speed.told == Told::kNot ? " (no measurable difference)" : "");
}

struct What {
  const char* words;
  bool plural;
};
What what_of(SameWork work) {
  switch (work) {
    case SameWork::kLessDecoding:
      return {"packing for less decoding", false};
    case SameWork::kOtherPixels:
      return {"smaller pictures", true};
    case SameWork::kYes:
      break;
  }
  return {"packing", false};
}

class Verdict {
 public:
  explicit Verdict(const SpeedReport& report) : report_(report) {}

  std::vector<std::string> sentences() {
    for (std::size_t at = 0; at < report_.conditions.size(); ++at) {
      if (report_.conditions[at].kind == Condition::Kind::kRemote) {
        judge_remote(at);
      } else {
        judge(at);
      }
    }
    name_foreign_load();
    name_stray_reads();
    name_short_epochs();
    if (waits_for_storage_) {
      sentences_.push_back(
          fmt::format("The folder was read by {} reader thread{}, each waiting for one file at a "
                      "time: more of them (`workers=`) may bring part of the gain without packing; "
                      "run `sweep()` on the folder to find out.",
                      report_.workers, report_.workers == 1 ? "" : "s"));
    }
    const auto is_smaller = [](const MeasuredInput& input) {
      return same_work(input) == SameWork::kOtherPixels;
    };
    if (std::ranges::none_of(report_.inputs, is_smaller)) {
      sentences_.push_back(
          "What smaller pictures would gain was not measured: pack with `image=resize`, or measure "
          "with `pack_all=`.");
    }
    return std::move(sentences_);
  }

 private:
  void judge(std::size_t condition) {
    const MeasuredRun& folder = report_.run(condition, 0);
    std::string where = place_text(report_, condition);
    where.front() = 'F';
    if (folder.training.empty()) {
      sentences_.push_back(fmt::format("{}: not measured: {}.", where, folder.not_measured));
      return;
    }
    std::string text = fmt::format("{}: {}", where, limit_text(folder));
    for (const SameWork work : {SameWork::kYes, SameWork::kLessDecoding, SameWork::kOtherPixels}) {
      const std::string gain = gain_text(condition, work);
      if (!gain.empty()) text += "; " + gain;
    }
    sentences_.push_back(text + losses_text(condition) + ".");
  }

  /// Whether the network keeps the device busy, input by input.
  void judge_remote(std::size_t condition) {
    const double limit = images_per_s(report_.device_limit).median;
    for (std::size_t input = 1; input < report_.inputs.size(); ++input) {
      const MeasuredRun& run = report_.run(condition, input);
      if (run.training.empty()) continue;
      const double speed = images_per_s(run.training).median;
      const Attribution parts = attribute(report_, run);
      const double waiting = (parts.fetch_s + parts.preparation_s) / parts.epoch_s;
      std::string text = fmt::format(
          "From a URL, without a cache: {} trains with {:.0f} images/s, {:.0f} % of what the "
          "device "
          "alone takes, and waits for data {:.1f} % of the time",
          report_.inputs[input].name, speed, 100 * speed / limit, 100 * waiting);
      if (parts.fetch_s >= kWorthwhile * parts.epoch_s)
        text += ": a cache (`cache=`) spares the later epochs the network";
      sentences_.push_back(
          fmt::format("{}; the folder in the page cache makes {:.0f}.", text,
                      images_per_s(report_.folder_run(condition).training).median));
    }
  }

  /// Names the load of others on the CPUs, which may affect any of the figures.
  void name_foreign_load() {
    const ForeignLoad load = foreign_load(report_);
    if (!load.known ||
        (load.mean <= kForeignMean * load.cpus && load.most <= kForeignPass * load.cpus))
      return;
    std::string text = fmt::format(
        "Other processes kept {:.1f} of the {:g} CPUs busy while this was measured, up to {:.1f} "
        "in a "
        "pass",
        load.mean, load.cpus, load.most);
    if (load.pressure_known) {
      text +=
          fmt::format(" (tasks, this program's among them, waited for a CPU {:.0f} % of the time)",
                      100 * load.pressure);
    }
    sentences_.push_back(text + ": all speeds here are those of a shared machine.");
  }

  /// Names warm inputs that the kernel did not keep in the page cache.
  void name_stray_reads() {
    std::string names;
    for (const MeasuredRun& run : report_.runs) {
      if (report_.conditions[run.condition].kind != Condition::Kind::kWarm) continue;
      const double share = disk_share(run);
      if (share <= kStray) continue;
      names += fmt::format("{}{} ({:.0f} %)", names.empty() ? "" : ", ",
                           report_.inputs[run.input].name, 100 * share);
    }
    if (names.empty()) return;
    sentences_.push_back(fmt::format(
        "Not all warm bytes came from the page cache, although the files had been read just "
        "before; the disk's share: {}. Free memory, or measure a smaller folder.",
        names));
  }

  /// Names costs that weigh more in part of a folder than in the whole, when only the part was
  /// measured.
  void name_short_epochs() {
    const std::vector<Pass>& training = report_.run(0, 0).training;
    const double first_s =
        spread_of(training, [](const Pass& pass) { return pass.first_batch_s; }).median;
    const double epoch_s =
        static_cast<double>(report_.inputs[0].samples) / images_per_s(training).median;
    if (first_s <= kShortEpoch * epoch_s) return;
    sentences_.push_back(
        fmt::format("An epoch is short here: of its {:.3g} s from the page cache, {:.3g} s pass "
                    "before its first batch is ready. A larger folder waits for that less often.",
                    epoch_s, first_s));
  }

  /// Why what limits the folder is not sure; empty when it is.
  std::string doubt_of(const MeasuredRun& folder) const {
    const std::size_t repeats = folder.training.size();
    if (repeats < kEnoughRepeats)
      return fmt::format(" (by {} repeat{}, where {} are needed)", repeats, repeats == 1 ? "" : "s",
                         kEnoughRepeats);
    const ForeignLoad load = foreign_load(report_);
    if (load.known && load.mean > kForeignPass * load.cpus)
      return fmt::format(" (others kept {:.0f} % of the CPUs busy)", 100 * load.mean / load.cpus);
    return {};
  }

  std::string limit_text(const MeasuredRun& folder) {
    const Attribution parts = attribute(report_, folder);
    const std::string doubt = doubt_of(folder);
    const char* const is = doubt.empty() ? "is" : "seems to be";
    const std::pair<double, const char*> stalls[] = {
        {parts.fetch_s,
         "the storage {1} the limit: {0:.0f} % of the folder's epoch is waiting for "
         "it"},
        {parts.preparation_s,
         "decoding {1} the limit: {0:.0f} % of the folder's epoch is waiting for it"},
        {parts.sharing_s,
         "decoding beside the training {1} the limit: steps beside it make the folder's epoch "
         "{0:.0f} % longer"}};
    const auto& [seconds, text] = *std::ranges::max_element(stalls);
    if (seconds < kWorthwhile * parts.epoch_s) {
      return fmt::format(
          "the device {} the limit, the folder's training waits for data {:.1f} % of the time{}",
          is, 100 * (parts.fetch_s + parts.preparation_s) / parts.epoch_s, doubt);
    }
    waits_for_storage_ = waits_for_storage_ || text == stalls[0].second;
    // Percentages are of what the epoch would take without the stall.
    const bool longer = text == stalls[2].second;
    const double whole = longer ? parts.epoch_s - seconds : parts.epoch_s;
    return fmt::format(fmt::runtime(text), 100 * seconds / whole, is) + doubt;
  }

  /// Describes the fastest packed input with `work`. Empty where there is none, except for packing
  /// as it is.
  std::string gain_text(std::size_t condition, SameWork work) const {
    const MeasuredRun& folder = report_.run(condition, 0);
    const MeasuredRun* const best = fastest(report_, condition, work);
    if (best == nullptr) return work == SameWork::kYes ? "packing as it is was not measured" : "";
    const What what = what_of(work);
    const Comparison speed = training_of(*best, folder);
    const std::string& name = report_.inputs[best->input].name;
    switch (speed.told) {
      case Told::kFaster:
        return fmt::format("{} {} {:.2f}x ({}: {:.0f} images/s instead of {:.0f})", what.words,
                           what.plural ? "gain" : "gains", speed.ratio, name,
                           images_per_s(best->training).median,
                           images_per_s(folder.training).median);
      case Told::kSlower:
        return fmt::format("{} {}: {}, the fastest, makes {:.2f}x", what.words,
                           what.plural ? "lose" : "loses", name, speed.ratio);
      case Told::kAlike:
        return fmt::format("{} {} no difference of {:.0f} % ({}, the fastest, makes {:.2f}x)",
                           what.words, what.plural ? "make" : "makes", 100 * (kNoticeable - 1),
                           name, speed.ratio);
      case Told::kNot:
        break;
    }
    return fmt::format("{} {} no measurable difference ({}, the fastest, makes {:.2f}x, {})",
                       what.words, what.plural ? "make" : "makes", name, speed.ratio,
                       speed.repeats < kEnoughRepeats
                           ? fmt::format("in {} repeat{} where {} are needed", speed.repeats,
                                         speed.repeats == 1 ? "" : "s", kEnoughRepeats)
                           : fmt::format("and anything from {:.2f}x to {:.2f}x by single repeats",
                                         speed.least, speed.most));
  }

  /// Lists the inputs slower than the folder, except those named as the fastest of their kind.
  std::string losses_text(std::size_t condition) const {
    const MeasuredRun& folder = report_.run(condition, 0);
    std::string text;
    for (std::size_t input = 1; input < report_.inputs.size(); ++input) {
      const MeasuredRun& run = report_.run(condition, input);
      if (&run == fastest(report_, condition, same_work(report_.inputs[input]))) continue;
      const Comparison speed = training_of(run, folder);
      if (speed.told != Told::kSlower) continue;
      text += fmt::format("{}{} {:.2f}x", text.empty() ? "; slower than the folder: " : ", ",
                          report_.inputs[input].name, speed.ratio);
    }
    return text;
  }

  const SpeedReport& report_;
  std::vector<std::string> sentences_;
  bool waits_for_storage_ = false;  ///< the folder's training, under some condition
};

}  // namespace

SameWork same_work(const MeasuredInput& input) {
  if (input.image_mode == "original") return SameWork::kYes;
  return input.image_mode == "roi" ? SameWork::kLessDecoding : SameWork::kOtherPixels;
}

std::vector<std::string> io_speedups(const SpeedReport& report) {
  std::vector<std::string> lines;
  const auto add = [&](std::size_t condition) {
    const std::string where = "I/O speedup " + place_text(report, condition);
    const MeasuredRun& folder = report.folder_run(condition);
    const MeasuredRun* const best = fastest(report, condition, SameWork::kYes);
    if (folder.training.empty()) {
      lines.push_back(where + ": not measured: " + folder.not_measured);
    } else if (best == nullptr) {
      lines.push_back(where + ": not measured: nothing was packed as it is (`image=original`)");
    } else {
      lines.push_back(fmt::format(
          "{}: training {}, read + decode {}, read {} ({} against the folder{})", where,
          speedup_text(best->training, folder.training), speedup_text(best->decode, folder.decode),
          speedup_text(best->read, folder.read), report.inputs[best->input].name,
          &folder == &report.run(condition, 0) ? "" : " in the page cache"));
    }
  };
  // The page cache is no storage: it comes last.
  for (std::size_t at = 1; at < report.conditions.size(); ++at) add(at);
  add(0);
  for (std::string& line : lines) line = spelled(line);
  return lines;
}

std::vector<std::string> verdict(const SpeedReport& report) {
  std::vector<std::string> sentences = Verdict(report).sentences();
  for (std::string& sentence : sentences) sentence = spelled(sentence);
  return sentences;
}

}  // namespace packhorse::trainer
