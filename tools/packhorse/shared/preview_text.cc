#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/printable.h"
#include "common/terminal.h"
#include "reports/reports.h"
#include "shared/pack_text.h"

namespace packhorse {

using program::bytes_text;
using program::count_text;
using program::with_commas;

namespace {

constexpr std::size_t kNames = 8, kNameColumns = 40;

std::string reasons_text(const PackPreview& preview) {
  std::string text;
  for (const PackPreview::Reason& one : preview.skips) {
    text += fmt::format("  skipped {}: {}, e.g. {}\n", with_commas(one.count),
                        printable_text(one.reason), printable_text(one.path));
  }
  for (const PackPreview::Reason& one : preview.rejects) {
    text +=
        fmt::format("  rejected {}, e.g. {}: {} ({})\n", with_commas(one.count),
                    printable_text(one.path), printable_text(one.reason), row_of(one.code).finding);
  }
  if (preview.reject_reasons_left_out > 0)
    text += fmt::format("  rejected for {}: see --log FILE\n",
                        count_text(preview.reject_reasons_left_out, "more reason"));
  return text;
}

std::string names_text(const std::vector<std::string>& classes) {
  std::string text = count_text(classes.size(), "class");
  for (std::size_t i = 0; i < classes.size() && i < kNames; ++i)
    text += (i == 0 ? ": " : ", ") + program::one_line(classes[i], kNameColumns);
  if (classes.size() > kNames + 1) text += ", ...";
  if (classes.size() > kNames) text += ", " + program::one_line(classes.back(), kNameColumns);
  return text + "\n";
}

/// A table: classes by splits.
std::string counts_text(const PackReport& report) {
  const PackPreview& preview = *report.preview;
  if (preview.classes.empty()) return {};
  std::vector<std::string> head = {"  class", "label"};
  for (const PackPreview::Split& split : preview.splits)
    head.push_back(split.split.empty() ? "images" : program::one_line(split.split, 16));
  std::vector<std::vector<std::string>> rows = {head};
  for (std::size_t i = 0; i < preview.classes.size(); ++i) {
    const PackPreview::ClassCount& one = preview.classes[i];
    if (preview.classes_left_out > 0 && i == preview.classes.size() / 2)
      rows.push_back({"  ... " + count_text(preview.classes_left_out, "class") + " between"});
    std::vector<std::string> row = {
        "  " + program::one_line(class_of(report, one.label), kNameColumns),
        std::to_string(one.label)};
    for (const std::uint64_t samples : one.by_split) row.push_back(with_commas(samples));
    rows.push_back(std::move(row));
  }
  return program::table_text(std::move(rows));
}

std::string fields_text(const PackPreview::Example& example) {
  if (example.fields.empty()) return {};
  return fmt::format(", with {}", fmt::join(example.fields, ", "));
}

std::string splits_text(const PackReport& report) {
  const PackPreview& preview = *report.preview;
  std::string text;
  for (const PackPreview::Split& split : preview.splits) {
    text += fmt::format("{}{}, {}, {}{}\n", split.split.empty() ? "" : split.split + ": ",
                        count_text(split.samples, "image"), bytes_text(split.bytes),
                        count_text(split.shards, "shard"),
                        split.classes_without == 0
                            ? ""
                            : ", no image of " + count_text(split.classes_without, "class"));
    for (const PackPreview::Example& one : split.examples)
      text += fmt::format("  {} is {}, label {}{}\n", one.path,
                          program::one_line(class_of(report, one.label), kNameColumns), one.label,
                          fields_text(one));
  }
  if (preview.splits_left_out > 0)
    text += fmt::format("and {}\n", count_text(preview.splits_left_out, "more split"));
  return text;
}

/// The classes of objects, by the number of them.
std::string objects_text(const PackPreview::Targets& targets) {
  std::vector<std::size_t> order(targets.classes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return targets.objects[a] > targets.objects[b]; });
  std::string text;
  for (std::size_t i = 0; i < order.size() && i < kNames; ++i)
    text += fmt::format("{}{} {}", i == 0 ? "  " : ", ",
                        program::one_line(targets.classes[order[i]], kNameColumns),
                        with_commas(targets.objects[order[i]]));
  if (order.size() > kNames)
    text += fmt::format(", and {}", count_text(order.size() - kNames, "more class"));
  return text + "\n";
}

std::string targets_text(const PackPreview& preview) {
  if (!preview.targets) return {};
  const PackPreview::Targets& targets = *preview.targets;
  const std::uint64_t objects =
      std::accumulate(targets.objects.begin(), targets.objects.end(), std::uint64_t{0});
  std::string text =
      fmt::format("targets ({}): {} of {} in {}, {} without objects\n", targets.notation,
                  count_text(objects, "object"), count_text(targets.classes.size(), "class"),
                  count_text(targets.images, "image"), with_commas(targets.empty));
  text += objects_text(targets);
  const std::pair<const char*, std::uint64_t> parts[] = {
      {"polygons", targets.polygons}, {"masks", targets.masks}, {"key points", targets.keypoints}};
  for (const auto& [what, count] : parts)
    if (count > 0) text += fmt::format("  with {}: {}\n", what, with_commas(count));
  if (targets.crowds > 0) text += fmt::format("  crowds: {}\n", with_commas(targets.crowds));
  for (const PackPreview::Reason& one : targets.problems)
    text +=
        fmt::format("  would reject {}, e.g. {}: {} ({})\n", with_commas(one.count),
                    printable_text(one.path), printable_text(one.reason), row_of(one.code).finding);
  if (targets.problem_reasons_left_out > 0)
    text += fmt::format("  would reject some for {}\n",
                        count_text(targets.problem_reasons_left_out, "more reason"));
  return text;
}

std::string verdict_text(const PackReport& report, const PackOptions& options) {
  const Accounting& a = report.accounting;
  const std::uint64_t allowed = options.max_rejects.allowed(a.seen);
  const std::uint64_t rejected =
      a.rejected + (report.preview->targets ? report.preview->targets->rejected : 0);
  if (a.packed == 0) return "note: nothing is left to pack, so nothing would be published\n";
  if (rejected > allowed) {
    return fmt::format(
        "note: {} rejected, {} allowed: nothing would be published; {}\n", with_commas(rejected),
        with_commas(allowed),
        report.advice.empty()
            ? fmt::format("fix or remove those files, or allow them with --max-rejects {}",
                          rejected)
            : report.advice);
  }
  return "note: images are checked only when they are packed, which may reject more\n";
}

}  // namespace

std::string preview_text(const PackReport& report, const PackOptions& options) {
  return reasons_text(*report.preview) + names_text(report.classes) + counts_text(report) +
         splits_text(report) + targets_text(*report.preview) + verdict_text(report, options);
}

}  // namespace packhorse
