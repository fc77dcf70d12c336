#include "shared/pack_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/printable.h"
#include "common/terminal.h"
#include "packhorse/base/error.h"
#include "reports/reports.h"

namespace packhorse {

using program::bytes_text;
using program::count_text;
using program::with_commas;

namespace {

constexpr std::size_t kRejectsShown = 50, kRejectsShownAlike = 10;

std::string duplicates_in_words(const PackReport& report) {
  if (report.duplicates.empty()) return {};
  std::size_t images = 0, dropped = 0, leaks = 0, contradictions = 0;
  for (const DuplicateGroup& group : report.duplicates) {
    images += group.members.size();
    leaks += group.across_splits ? 1u : 0u;
    contradictions += group.across_classes ? 1u : 0u;
    for (const DuplicateGroup::Member& member : group.members) dropped += member.dropped ? 1u : 0u;
  }
  return fmt::format(
      "duplicates: {} have the same bytes as another ({}; {} of the groups across splits, {} "
      "across classes), {} dropped\n",
      count_text(images, "image"), count_text(report.duplicates.size(), "group"), leaks,
      contradictions, with_commas(dropped));
}

/// Lists the classes, because a wrong layout shows in their names first.
std::string classes_in_words(const std::vector<std::string>& classes) {
  if (classes.empty()) return {};
  const std::string first = printable(classes.front());
  if (classes.size() == 1) return fmt::format("1 class: {}\n", first);
  return fmt::format("{}: {} {} {}\n", count_text(classes.size(), "class"), first,
                     classes.size() == 2 ? "and" : "...", printable(classes.back()));
}

std::string detected_in_words(const PackReport& report) {
  if (report.detected.empty()) return {};
  return "found " + printable_text(report.detected) + "\n";
}

}  // namespace

std::string notes_in_words(const PackReport& report) {
  std::string text;
  for (const std::string& note : report.notes) text += "note: " + printable_text(note) + "\n";
  return text;
}

std::string to_words(const PackReport& report, const PackOptions& options) {
  const Accounting& a = report.accounting;
  std::string text = detected_in_words(report);
  text += options.task
              ? fmt::format("seen {}; in this share: packed {}, rejected {}\n", with_commas(a.seen),
                            with_commas(a.packed), with_commas(a.rejected))
              : fmt::format("seen {} = packed {} + rejected {} + skipped {}\n", with_commas(a.seen),
                            with_commas(a.packed), with_commas(a.rejected), with_commas(a.skipped));
  if (report.preview) {
    text += preview_text(report, options) + duplicates_in_words(report);
    text += notes_in_words(report);
    return text + fmt::format("would pack them into {}, of {} at most; nothing was written\n",
                              count_text(report.shards, "shard"), bytes_text(report.estimate));
  }
  for (const auto& [rule, count] : report.skipped_by_rule) {
    text += fmt::format("  skipped {}: {}\n", with_commas(count), printable_text(rule));
  }
  for (const auto& [note, count] : report.image_notes)
    text += fmt::format("  images {}: {}\n", with_commas(count), printable_text(note));
  text += duplicates_in_words(report);
  text += classes_in_words(report.classes);
  if (report.objects && a.packed > 0)
    text += fmt::format("{}, {} without any\n", count_text(report.objects->objects, "object"),
                        count_text(report.objects->images_without, "image"));
  text += notes_in_words(report);
  if (options.task) {
    return text + fmt::format(
                      "task {} of {}: {} packed, {} of them kept from before, {}; nothing is "
                      "published until --finish\n",
                      options.task->index, options.task->count, count_text(report.shards, "shard"),
                      with_commas(report.shards_kept), program::seconds_text(report.seconds));
  }
  if (!report.published) return text;
  for (const PackedSplit& split : report.splits) {
    text += fmt::format("{}: {}, {}, {}, id {}\n", printable(split.path.native()),
                        count_text(split.manifest.samples, "image"),
                        count_text(split.manifest.class_samples.size(), "class"),
                        count_text(split.manifest.shards.size(), split.manifest.format + " shard"),
                        split.manifest.id().substr(0, 12));
  }
  text += fmt::format("{} in, {} out, {}", bytes_text(report.bytes_in),
                      bytes_text(report.bytes_out), program::seconds_text(report.seconds));
  if (report.shards_kept > 0)
    text += ", " + count_text(report.shards_kept, "shard") + " kept from the previous run";
  return text + "\n";
}

void print_rejects(const PackReport& report) {
  std::map<std::string_view, std::size_t> by_reason;
  std::size_t shown = 0;
  for (const Reject& reject : report.rejects) {
    if (shown == kRejectsShown || ++by_reason[reject.reason] > kRejectsShownAlike) continue;
    fmt::print(stderr, "rejected: {}: {} ({})\n", printable_text(reject.path),
               printable_text(reject.reason), row_of(reject.code).finding);
    ++shown;
  }
  if (report.rejects.size() > shown) {
    fmt::print(stderr, "rejected: ... and {} more\n", with_commas(report.rejects.size() - shown));
  }
}

std::string to_words(const PackStatus& status) {
  const auto ago = [](const std::optional<double>& seconds) {
    return seconds ? program::seconds_text(*seconds) + " ago" : std::string("-");
  };
  const double share = status.shards == 0
                           ? 1
                           : static_cast<double>(status.done) / static_cast<double>(status.shards);
  std::string text =
      fmt::format("{} of {} packed ({:.0f} %), {}", with_commas(status.done),
                  count_text(status.shards, "shard"), 100 * share, bytes_text(status.bytes));
  if (status.left_s) text += ", " + program::seconds_text(*status.left_s) + " left at this pace";
  text += "\n";
  std::vector<std::vector<std::string>> rows = {
      {"task", "state", "process", "shards", "last shard", "sign of life", "left"}};
  for (const TaskStatus& task : status.tasks) {
    rows.push_back(
        {task.task.empty() ? "all" : task.task, name_of(task.state),
         task.host.empty() ? "-" : fmt::format("{} on {}", task.pid, printable(task.host)),
         fmt::format("{} of {}", with_commas(task.done), with_commas(task.shards)),
         ago(task.last_s), ago(task.sign_s),
         task.left_s ? program::seconds_text(*task.left_s) : "-"});
  }
  text += program::table_text(rows);
  const auto count = [&](TaskStatus::State state) {
    return static_cast<std::uint64_t>(std::ranges::count(status.tasks, state, &TaskStatus::state));
  };
  using State = TaskStatus::State;
  if (const auto lost = count(State::kSilent) + count(State::kStopped); lost > 0)
    text += fmt::format(
        "{} not running: run {} again with the same --task; finished shards are kept\n",
        count_text(lost, "task") + (lost == 1 ? " is" : " are"), lost == 1 ? "it" : "them");
  if (count(State::kSlow) > 0)
    text +=
        "slow: no shard in three times the usual time; its machine or its part of the source may "
        "be the reason\n";
  if (status.done == status.shards && !status.tasks.front().task.empty())
    text += "all are packed: run the command once with --finish, without --task\n";
  if (status.clock_behind_s > 0)
    text += fmt::format(
        "the newest file is {} ahead of the clock here: clocks differ, and times by as much\n",
        program::seconds_text(status.clock_behind_s));
  if (status.own_clock)
    text +=
        "times are by this machine's clock: no file could be made in the staging directory to ask "
        "for the storage's\n";
  return text;
}

}  // namespace packhorse
