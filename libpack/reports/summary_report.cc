#include <nlohmann/json.hpp>

#include "base/option.h"
#include "reports/reports.h"

namespace packhorse {

namespace {

std::uint64_t shard_bytes(const Manifest& manifest) {
  std::uint64_t bytes = 0;
  for (const ShardRecord& shard : manifest.shards) bytes += shard.bytes;
  return bytes;
}

ReportJson values_json(const ValueCounts& values, const char* of = "samples") {
  ReportJson bins = ReportJson::array();
  for (const Bin& bin : values.bins(6))
    bins.push_back({{"from", bin.begin}, {"below", bin.end}, {of, bin.count}});
  return {
      {"min", values.least()}, {"median", values.median()}, {"max", values.most()}, {"bins", bins}};
}

ReportJson balance_json(const PackedDataset& dataset, const ClassBalance& balance) {
  const auto one = [&](std::size_t label, std::uint64_t samples) {
    return ReportJson{{"name", dataset.classes()[label]}, {"samples", samples}};
  };
  return {{"largest", one(balance.largest, balance.most)},
          {"smallest", one(balance.smallest, balance.least)},
          {"median_samples", balance.median},
          {"ratio", balance.ratio()},
          {"empty", balance.empty}};
}

/// The words of the options, as a front end's users give them.
std::vector<std::string> typed_options(const Manifest& manifest) {
  std::vector<std::string> words;
  for (const auto& [name, value] : recorded_options(manifest)) {
    const std::string text = opt(name, value);
    const std::size_t space = text.find(' ');
    words.push_back(text.substr(0, space));
    if (space != text.npos) words.push_back(text.substr(space + 1));
  }
  return words;
}

}  // namespace

ReportJson to_json(const ObjectStats& stats) {
  ReportJson classes = ReportJson::array();
  for (std::size_t label = 0; label < stats.class_objects.size(); ++label)
    classes.push_back(
        {{"name", stats.target.record.classes[label]}, {"objects", stats.class_objects[label]}});
  return {{"images", stats.images},
          {"damaged", stats.damaged},
          {"objects", stats.objects},
          {"images_without", stats.empty},
          {"per_image", values_json(stats.per_image, "images")},
          {"classes", classes},
          {"sizes", {{"small", stats.small}, {"medium", stats.medium}, {"large", stats.large}}},
          {"side", values_json(stats.sides, "objects")},
          {"with_polygons", stats.with_polygons},
          {"with_run_lengths", stats.with_runs},
          {"with_keypoints", stats.with_keypoints},
          {"crowds", stats.crowds},
          {"difficult", stats.difficult},
          {"truncated", stats.truncated},
          {"occluded", stats.occluded}};
}

ReportJson to_json(const PackedDataset& dataset, const Summary& summary,
                   const std::optional<ObjectStats>& objects) {
  const Manifest& m = dataset.manifest();
  ReportJson classes = ReportJson::array(), shards = ReportJson::array(),
             components = ReportJson::object();
  ReportJson fields = ReportJson::array(), shapes = ReportJson::array(),
             skipped = ReportJson::object(), targets = ReportJson::array();
  for (std::size_t i = 0; i < dataset.classes().size(); ++i)
    classes.push_back({{"name", dataset.classes()[i]}, {"samples", m.class_samples[i]}});
  for (const ShardRecord& s : m.shards) {
    shards.push_back(
        {{"file", s.file}, {"samples", s.samples}, {"bytes", s.bytes}, {"sha256", s.sha256}});
  }
  for (std::size_t i = 0; i < m.fields.size(); ++i)
    fields.push_back({{"name", m.fields[i]}, {"samples", summary.field_samples[i]}});
  for (const TargetRecord& target : m.targets)
    targets.push_back({{"name", target.name},
                       {"kind", target.kind},
                       {"classes", target.classes},
                       {"keypoints", target.keypoints}});
  for (const auto& [count, samples] : summary.components)
    components[std::to_string(count)] = samples;
  for (const ShapeCount& shape : summary.shapes)
    shapes.push_back({{"shape", shape.name}, {"samples", shape.count}});
  for (const auto& [rule, count] : m.skipped_by_rule) skipped[rule] = count;
  ReportJson json = {{"path", dataset.path().string()},
                     {"format", m.format},
                     {"compress", m.compress},
                     {"image", m.image},
                     {"image_settings", m.image_settings},
                     {"fields", fields},
                     {"targets", targets},
                     {"split", m.split},
                     {"samples", m.samples},
                     {"classes", classes},
                     {"bytes", shard_bytes(m)},
                     {"payload_bytes", m.payload_bytes},
                     {"kinds", summary.kinds},
                     {"accounting",
                      {{"seen", m.accounting.seen},
                       {"packed", m.accounting.packed},
                       {"rejected", m.accounting.rejected},
                       {"skipped", m.accounting.skipped},
                       {"skipped_by_rule", skipped}}},
                     {"shards", shards},
                     {"id", m.id()},
                     {"packhorse", m.version},
                     {"options", typed_options(m)},
                     {"class_balance", balance_json(dataset, summary.classes)},
                     {"components", components},
                     {"turned", summary.turned},
                     {"width", values_json(summary.width)},
                     {"height", values_json(summary.height)},
                     {"short_side", values_json(summary.short_side)},
                     {"image_bytes", values_json(summary.bytes)},
                     {"shapes", shapes}};
  if (objects) json["objects"] = to_json(*objects);
  return json;
}

ReportJson summary_report(const std::filesystem::path& path) {
  const std::vector<std::filesystem::path> paths = find_datasets(path);
  std::vector<ReportJson> reports;
  for (const std::filesystem::path& one : paths) {
    const PackedDataset dataset(one);
    reports.push_back(
        to_json(dataset, summarise(dataset), count_objects(dataset, {.images = kObjectsGlance})));
  }
  return one_report(path, paths, reports);
}

}  // namespace packhorse
