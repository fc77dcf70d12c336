#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "reports/reports.h"

namespace packhorse {

std::string class_of(const PackReport& report, std::int64_t label) {
  const auto place = static_cast<std::size_t>(label);
  return place < report.classes.size() ? report.classes[place] : std::to_string(label);
}

namespace {

constexpr std::size_t kNames = 8;  ///< classes that the preview names

ReportJson codes_json(Reason reason) {
  return {{"code", code_of(reason)}, {"finding", row_of(reason).finding}};
}

ReportJson json_of(const Reject& reject) {
  ReportJson json = {{"path", reject.path}, {"reason", reject.reason}};
  json.update(codes_json(reject.code));
  return json;
}

ReportJson json_of(const std::vector<PackPreview::Reason>& reasons) {
  ReportJson json = ReportJson::array();
  for (const PackPreview::Reason& one : reasons) {
    json.push_back({{"reason", one.reason}, {"count", one.count}, {"example", one.path}});
    if (one.code != Reason::kNone) json.back().update(codes_json(one.code));
  }
  return json;
}

ReportJson targets_json(const PackPreview::Targets& targets) {
  ReportJson classes = ReportJson::array();
  for (std::size_t i = 0; i < targets.classes.size(); ++i)
    classes.push_back({{"class", targets.classes[i]}, {"objects", targets.objects[i]}});
  return {{"notation", targets.notation},
          {"classes", classes},
          {"images", targets.images},
          {"images_without_objects", targets.empty},
          {"polygons", targets.polygons},
          {"masks", targets.masks},
          {"keypoints", targets.keypoints},
          {"crowds", targets.crowds},
          {"rejected", targets.rejected},
          {"problems_by_reason", json_of(targets.problems)},
          {"problem_reasons_left_out", targets.problem_reasons_left_out}};
}

ReportJson preview_json(const PackReport& report) {
  const PackPreview& preview = *report.preview;
  ReportJson splits = ReportJson::array(), classes = ReportJson::array();
  for (const PackPreview::Split& split : preview.splits) {
    ReportJson examples = ReportJson::array();
    for (const PackPreview::Example& one : split.examples) {
      examples.push_back({{"path", one.path},
                          {"label", one.label},
                          {"class", class_of(report, one.label)},
                          {"fields", one.fields}});
    }
    splits.push_back({{"split", split.split},
                      {"samples", split.samples},
                      {"bytes", split.bytes},
                      {"shards", split.shards},
                      {"classes_without", split.classes_without},
                      {"examples", examples}});
  }
  for (const PackPreview::ClassCount& one : preview.classes) {
    classes.push_back({{"class", class_of(report, one.label)},
                       {"label", one.label},
                       {"samples", one.samples},
                       {"by_split", one.by_split}});
  }
  const auto first = report.classes.begin();
  const auto names = static_cast<std::ptrdiff_t>(std::min(kNames, report.classes.size()));
  ReportJson json = {{"first_classes", std::vector<std::string>(first, first + names)},
                     {"splits", splits},
                     {"splits_left_out", preview.splits_left_out},
                     {"classes", classes},
                     {"classes_left_out", preview.classes_left_out},
                     {"rejected_by_reason", json_of(preview.rejects)},
                     {"reject_reasons_left_out", preview.reject_reasons_left_out},
                     {"skipped_by_rule", json_of(preview.skips)}};
  if (preview.targets) json["targets"] = targets_json(*preview.targets);
  return json;
}

}  // namespace

ReportJson to_json(const DuplicateGroup& group) {
  ReportJson members = ReportJson::array();
  for (const DuplicateGroup::Member& member : group.members) {
    members.push_back(
        {{"path", member.path}, {"label", member.label}, {"dropped", member.dropped}});
  }
  return {{"across_splits", group.across_splits},
          {"across_classes", group.across_classes},
          {"members", members}};
}

ReportJson to_json(const PackReport& report) {
  const Accounting& a = report.accounting;
  ReportJson splits = ReportJson::array(), rejects = ReportJson::array(),
             skipped = ReportJson::object();
  ReportJson duplicates = ReportJson::array();
  for (const PackedSplit& split : report.splits) {
    splits.push_back({{"split", split.split},
                      {"path", split.path.string()},
                      {"id", split.manifest.id()},
                      {"samples", split.manifest.samples},
                      {"shards", split.manifest.shards.size()}});
  }
  for (const Reject& reject : report.rejects) rejects.push_back(json_of(reject));
  for (const auto& [rule, count] : report.skipped_by_rule) skipped[rule] = count;
  for (const DuplicateGroup& group : report.duplicates) duplicates.push_back(to_json(group));
  ReportJson json = {
      {"seen", a.seen},
      {"packed", a.packed},
      {"rejected", a.rejected},
      {"skipped", a.skipped},
      {"bytes_in", report.bytes_in},
      {"bytes_out", report.bytes_out},
      {"shards", report.shards},
      {"shards_kept", report.shards_kept},
      {"seconds", report.seconds},
      {"id", report.id},
      {"published", report.published},
      {"splits", splits},
      {"skipped_by_rule", skipped},
      {"image_notes", report.image_notes},
      {"duplicates", duplicates},
      {"notes", report.notes},
      {"estimate", report.estimate},
      {"classes", report.classes.size()},
      {"first_class", report.classes.empty() ? ReportJson() : ReportJson(report.classes.front())},
      {"last_class", report.classes.empty() ? ReportJson() : ReportJson(report.classes.back())},
      {"rejects", rejects}};
  if (!report.detected.empty()) json["detected"] = report.detected;
  if (report.objects)
    json["objects"] = {{"objects", report.objects->objects},
                       {"images_without", report.objects->images_without},
                       {"images_turned", report.objects->images_turned}};
  if (report.preview) json["preview"] = preview_json(report);
  return json;
}

std::string pack_log_text(const PackReport& report) {
  std::string text;
  const auto add = [&](ReportJson line) { text += json_line(std::move(line)); };
  for (const Reject& reject : report.rejects) {
    ReportJson line = {{"event", "reject"}};
    line.update(json_of(reject));
    add(std::move(line));
  }
  for (const Skip& skip : report.skips)
    add({{"event", "skip"}, {"path", skip.path}, {"rule", skip.rule}});
  for (const DuplicateGroup& group : report.duplicates) {
    ReportJson line = {{"event", "duplicate"}};
    line.update(to_json(group));
    add(std::move(line));
  }
  return text;
}

ReportJson to_json(const PackStatus& status) {
  const auto known = [](const std::optional<double>& seconds) {
    return seconds ? ReportJson(*seconds) : ReportJson();
  };
  ReportJson tasks = ReportJson::array();
  for (const TaskStatus& task : status.tasks) {
    tasks.push_back({{"task", task.task},
                     {"state", name_of(task.state)},
                     {"host", printable(task.host)},
                     {"pid", task.pid},
                     {"shards", task.shards},
                     {"done", task.done},
                     {"bytes", task.bytes},
                     {"seconds_since_last_shard", known(task.last_s)},
                     {"seconds_since_sign_of_life", known(task.sign_s)},
                     {"seconds_left", known(task.left_s)}});
  }
  return {{"staging", status.staging.string()},
          {"shards", status.shards},
          {"done", status.done},
          {"bytes", status.bytes},
          {"seconds_left", known(status.left_s)},
          {"clock_behind_seconds", status.clock_behind_s},
          {"own_clock", status.own_clock},
          {"tasks", tasks}};
}

}  // namespace packhorse
