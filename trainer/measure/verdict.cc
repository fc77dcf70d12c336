#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "packhorse/trainer/measure.h"

namespace packhorse::trainer {
namespace {

/// A stall shorter than that is not worth anybody's while, nor a gain below the other.
constexpr double kWorthwhile = 0.05, kNoticeable = 1.02;
/// Of an epoch, until its first batch is there.
constexpr double kShortEpoch = 0.05;
/// Of the bytes of warm passes, from the disk.
constexpr double kStray = 0.01;

double ratio(const MeasuredRun& run, const MeasuredRun& base) {
  return images_per_s(run.training).median / images_per_s(base.training).median;
}

bool gains(const MeasuredRun& run, const MeasuredRun& base) {
  return images_per_s(run.training).min > images_per_s(base.training).max &&
         ratio(run, base) > kNoticeable;
}

/// How much of what a warm input's passes read came from the disk: of the work with the most. The
/// first repeat does not count, in which the process loads pages of its own.
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

/// Pixels of another size than the folder's.
bool is_smaller(const MeasuredInput& input) {
  return input.image_mode == "resize" || input.image_mode == "raw";
}

class Verdict {
 public:
  explicit Verdict(const SpeedReport& report) : report_(report) {}

  std::vector<std::string> sentences() {
    for (std::size_t at = 0; at < report_.conditions.size(); ++at) judge(at);
    name_stray_reads();
    name_short_epochs();
    if (waits_for_storage_) {
      sentences_.push_back(fmt::format(
          "The folder's files were waited for one at a time by each of {} reader thread{}: more of "
          "them (--workers) may gain a part of that without packing; `packhorse-train sweep` on "
          "the folder tells.",
          report_.workers, report_.workers == 1 ? "" : "s"));
    }
    const bool any_smaller = std::any_of(report_.inputs.begin(), report_.inputs.end(), is_smaller);
    if (!any_smaller) {
      sentences_.push_back(
          "What smaller pictures would gain was not measured: pack with --image resize, or measure "
          "with --pack-all.");
    }
    return std::move(sentences_);
  }

 private:
  void judge(std::size_t condition) {
    const MeasuredRun& folder = report_.run(condition, 0);
    const std::string where = place_text(report_.conditions[condition]);
    if (folder.training.empty()) {
      sentences_.push_back(fmt::format("{}: not measured: {}.", where, folder.not_measured));
      return;
    }
    std::string text = fmt::format("{}: {}; {}", where, limit_text(attribute(report_, folder)),
                                   gain_text(condition, false));
    if (const std::string smaller = gain_text(condition, true); !smaller.empty())
      text += "; " + smaller;
    sentences_.push_back(text + losses_text(condition) + ".");
  }

  /// Warm inputs that the kernel did not keep in the page cache.
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

  /// What a part of a folder, measured in its place, has more of than the whole.
  void name_short_epochs() {
    const std::vector<Pass>& training = report_.run(0, 0).training;
    const double first_s =
        spread_of(training, [](const Pass& pass) { return pass.first_batch_s; }).median;
    const double epoch_s =
        static_cast<double>(report_.inputs[0].samples) / images_per_s(training).median;
    if (first_s <= kShortEpoch * epoch_s) return;
    sentences_.push_back(
        fmt::format("An epoch is short here: of its {:.3g} s from the page cache, {:.3g} s pass "
                    "before its first batch is there. A larger folder waits for that less often.",
                    epoch_s, first_s));
  }

  static std::string place_text(const Condition& condition) {
    switch (condition.kind) {
      case Condition::Kind::kCold:
        return "From the disk";
      case Condition::Kind::kSimulated:
        return "From simulated " + condition.storage.name;
      case Condition::Kind::kWarm:
        break;
    }
    return "From the page cache";
  }

  std::string limit_text(const Attribution& parts) {
    const std::pair<double, const char*> stalls[] = {
        {parts.fetch_s,
         "the storage is the limit: {:.0f} % of the folder's epoch is waiting for it"},
        {parts.preparation_s,
         "decoding is the limit: {:.0f} % of the folder's epoch is waiting for it"},
        {parts.sharing_s,
         "decoding takes cores from the training: steps beside it make the folder's epoch {:.0f} % "
         "longer"}};
    const auto& [seconds, text] = *std::max_element(std::begin(stalls), std::end(stalls));
    if (seconds < kWorthwhile * parts.epoch_s) {
      return fmt::format(
          "the device is the limit, the folder's training waits for data {:.1f} % of the time",
          100 * (parts.fetch_s + parts.preparation_s) / parts.epoch_s);
    }
    waits_for_storage_ = waits_for_storage_ || text == stalls[0].second;
    // In percent of what the epoch would be without it.
    const bool longer = text == stalls[2].second;
    const double whole = longer ? parts.epoch_s - seconds : parts.epoch_s;
    return fmt::format(fmt::runtime(text), 100 * seconds / whole);
  }

  /// Of the fastest packed input with pixels of the folder's size, or with smaller ones.
  std::string gain_text(std::size_t condition, bool smaller) const {
    const MeasuredRun& folder = report_.run(condition, 0);
    const MeasuredRun* best = nullptr;
    for (std::size_t input = 1; input < report_.inputs.size(); ++input) {
      const MeasuredRun& run = report_.run(condition, input);
      if (run.training.empty() || is_smaller(report_.inputs[input]) != smaller) continue;
      if (best == nullptr || ratio(run, folder) > ratio(*best, folder)) best = &run;
    }
    const char* const what = smaller ? "smaller pictures" : "packing";
    if (best == nullptr) return smaller ? "" : "packing as it is was not measured";
    const std::string& name = report_.inputs[best->input].name;
    if (!gains(*best, folder)) {
      return fmt::format(
          "{} would gain nothing ({}, the fastest, makes {:.2f}x, within the spread)", what, name,
          ratio(*best, folder));
    }
    return fmt::format("{} {} {:.2f}x ({}: {:.0f} images/s instead of {:.0f})", what,
                       smaller ? "gain" : "gains", ratio(*best, folder), name,
                       images_per_s(best->training).median, images_per_s(folder.training).median);
  }

  /// Of those whose fastest repeat is behind the folder's slowest.
  std::string losses_text(std::size_t condition) const {
    const MeasuredRun& folder = report_.run(condition, 0);
    std::string text;
    for (std::size_t input = 1; input < report_.inputs.size(); ++input) {
      const MeasuredRun& run = report_.run(condition, input);
      if (run.training.empty() || !gains(folder, run)) continue;
      text += fmt::format("{}{} {:.2f}x", text.empty() ? "; slower than the folder: " : ", ",
                          report_.inputs[input].name, ratio(run, folder));
    }
    return text;
  }

  const SpeedReport& report_;
  std::vector<std::string> sentences_;
  bool waits_for_storage_ = false;  ///< the folder's training, under some condition
};

}  // namespace

std::vector<std::string> verdict(const SpeedReport& report) { return Verdict(report).sentences(); }

}  // namespace packhorse::trainer
