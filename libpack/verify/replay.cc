#include "verify/replay.h"

#include <algorithm>
#include <array>

#include "base/option.h"
#include "base/text.h"
#include "packhorse/base/error.h"
#include "packing/select.h"
#include "transforms/transform.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// Throws when the dataset was packed with a selection that `given` lacks. The rule of a skip,
/// which the manifest has, names its option, but not its value.
void refuse_lost_selection(const Manifest& manifest, const SelectOptions& given) {
  struct Selection {
    std::string_view rule, option;
    bool is_given;
  };
  const std::array<Selection, 5> selections = {{
      {"include", "include", !given.include.empty()},
      {"exclude", "exclude", !given.exclude.empty()},
      {"identical to another input", "deduplicate",
       given.duplicates == SelectOptions::Duplicates::kDrop},
      {"sample-per-class", "samples_per_class", given.samples_per_class > 0},
      {"limit", "limit", given.limit > 0},
  }};
  for (const auto& [rule, count] : manifest.skipped_by_rule) {
    for (const Selection& one : selections) {
      if (one.is_given || rule.find(one.rule) == std::string::npos) continue;
      throw Error(ErrorKind::kUsage,
                  "the dataset was packed with " + opt(one.option) +
                      ", whose value its manifest does not record",
                  {}, "give the same selection options as for `pack`");
    }
  }
}

int level_of(const std::string& compress) {
  const std::size_t colon = compress.find(':');
  return colon == std::string::npos ? 0 : parse_number<int>(compress.substr(colon + 1)).value_or(0);
}

/// Throws when the dataset was packed with targets that the source does not bring, and none are
/// `given`.
void refuse_lost_targets(const Manifest& manifest, const Source& source,
                         const TargetOptions& given) {
  if (!given.empty()) return;
  std::vector<std::string> brought;
  for (const TargetRecord& target : source.targets()) brought.push_back(target.name);
  if (const TargetOptions own = source.own_targets(); !own.empty()) {
    for (std::string& name : own.made_fields()) brought.push_back(std::move(name));
  }
  const bool all = std::ranges::all_of(manifest.targets, [&](const TargetRecord& target) {
    return std::ranges::find(brought, target.name) != brought.end();
  });
  if (all) return;
  throw Error(ErrorKind::kUsage,
              "the dataset was packed with `targets=`, which its manifest does not record", {},
              "give the same `targets=` as for `pack`");
}

/// The dataset's fields but those for which a place is given, and those that packing makes.
std::vector<std::string> fields_beside(const Manifest& manifest, const Source& source,
                                       const PackOptions& given) {
  std::vector<std::string> names = manifest.fields;
  const TargetOptions own = source.own_targets();
  const TargetOptions& targets = own.empty() ? given.list.targets : own;
  if (!own.empty()) std::erase(names, own.field());
  if (!targets.empty()) {
    for (const std::string& name : targets.made_fields()) std::erase(names, name);
  }
  for (const FieldPlace& place : given.list.fields.places) std::erase(names, place.name);
  return names;
}

/// The options as the manifest records them. Images of a source that was packed with the same mode
/// and settings were taken as they are.
PackOptions options_of(const Manifest& manifest, const Source& source, const PackOptions& given) {
  PackOptions options = given;
  options.format = manifest.format;
  options.zstd_level = level_of(manifest.compress);
  options.plan = {manifest.shuffle, manifest.seed, manifest.shard_bytes, manifest.shard_samples};
  options.image = keeping_transform().name;
  if (manifest.image != source.image_mode() || manifest.image_settings != source.image_settings()) {
    options.image = manifest.image;
    options.transform = TransformOptions::parse(manifest.image_settings);
  }
  if (!options.list.fields.names)
    options.list.fields.names = fields_beside(manifest, source, given);
  options.select.seed = manifest.seed;
  options.select.in_order = !manifest.shuffle;
  if (options.select.jobs == 0) options.select.jobs = options.jobs;
  return options;
}

/// Lists the source with the dataset's class list, if that fits; a source that has new classes
/// since then is listed by its own.
void list(Replay& replay, const std::vector<std::string>& classes, const fs::path& source) {
  ListOptions options = replay.options.list;
  if (!options.classes.empty() || classes.empty()) {
    replay.listing = list_source(*replay.source, options);
    return;
  }
  options.classes = classes;
  try {
    replay.listing = list_source(*replay.source, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    replay.source = open_source(source, replay.options.source_kind, replay.options.list);
    replay.listing = list_source(*replay.source, replay.options.list);
  }
}

}  // namespace

Replay replay(const Manifest& manifest, const std::vector<std::string>& classes,
              const fs::path& source, const PackOptions& given, Progress& progress) {
  if (manifest.adopted) {
    throw Error(ErrorKind::kUsage,
                "packhorse did not make the shards of this dataset, so it cannot pack them again",
                source,
                "repair them from a copy of the dataset; to compare, pack the source and run "
                "`packhorse diff`");
  }
  refuse_lost_selection(manifest, given.select);
  Replay replay;
  replay.source = open_source(source, given.source_kind, given.list);
  refuse_lost_targets(manifest, *replay.source, given.list.targets);
  replay.options = options_of(manifest, *replay.source, given);
  ListOptions& listed = replay.options.list;
  listed.exclude = replay.options.select.exclude;
  if (!listed.memory) listed.memory = std::make_shared<EntryMemory>(given.memory, listed.scratch);
  replay.keep_keys = replay.source->ordered() && !manifest.shuffle;
  list(replay, classes, source);
  select(*replay.source, replay.listing, replay.options.select, progress);
  return replay;
}

SplitListing& split_of(Replay& replay, const Manifest& manifest, const fs::path& source) {
  std::vector<SplitListing>& splits = replay.listing.splits;
  const auto found = std::ranges::find_if(
      splits, [&](const SplitListing& split) { return split.split == manifest.split; });
  if (found != splits.end()) return *found;
  if (splits.size() == 1 && splits.front().split.empty()) {
    throw Error(
        ErrorKind::kUsage,
        "the dataset is the split '" + manifest.split + "', and the source has no splits", source,
        "give the source that has them; if they came from `split=`, `split_folders=` or a column "
        "of `labels=`, give that option as for `pack`");
  }
  throw Error(
      ErrorKind::kUsage,
      manifest.split.empty()
          ? "the source has splits, but the dataset was packed from a source without"
          : "the source has no split '" + manifest.split + "'",
      source,
      "give the source the dataset was packed from, and `split_folders=` as for `pack`" +
          std::string(manifest.split.empty()
                          ? ", e.g. `split_folders=none`, or `split_column=none` for `labels=`"
                          : ""));
}

}  // namespace packhorse
