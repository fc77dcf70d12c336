#include "packhorse/adopting/adopt.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "adopting/merge_shards.h"
#include "adopting/named_shards.h"
#include "adopting/scan_shard.h"
#include "adopting/target.h"
#include "annotations/sample_targets.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/option.h"
#include "base/parallel.h"
#include "base/resources.h"
#include "base/stop.h"
#include "dataset/class_list.h"
#include "dataset/shard_index.h"
#include "packhorse/annotations/target_options.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/targets/objects.h"
#include "packhorse/version.h"
#include "packing/publish.h"
#include "transforms/transform.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

void check_objects(Bytes field, const TargetRecord& target) {
  const Objects objects = decode_objects(field);
  for (const std::int32_t label : objects.labels) {
    if (label < 0 || static_cast<std::size_t>(label) >= target.classes.size())
      throw Error(ErrorKind::kCorrupt, "an object's class is none of those given");
  }
  if (!objects.keypoints_each.empty() && objects.keypoints_each.front() != target.keypoints.size())
    throw Error(ErrorKind::kCorrupt, "its objects have another number of key points");
}

void check_shard(const std::filesystem::path& file, const ScannedShard& shard,
                 const std::vector<std::int32_t>& labels, const TargetRecord& target) {
  const auto found = std::ranges::find(shard.fields, target.name);
  const UniqueFd fd = open_for_reading(file);
  std::vector<std::byte> field;
  for (std::size_t row = 0; row < shard.rows.size(); ++row) {
    if (labels[row] < 0) continue;  // it is rejected
    const std::size_t at =
        row * shard.fields.size() + static_cast<std::size_t>(found - shard.fields.begin());
    try {
      if (found == shard.fields.end() || shard.field_ranges[at].offset == kAbsent.offset)
        throw Error(ErrorKind::kCorrupt, "its field '" + target.name + "' is missing");
      field.resize(shard.field_ranges[at].length);
      read_exactly(fd.get(), shard.field_ranges[at].offset, field, file);
      check_objects(field, target);
    } catch (const Error& error) {
      if (!error.path().empty()) throw;
      throw Error(ErrorKind::kCorrupt, error.what(), file,
                  "give the annotations' own `targets=`, or leave it out",
                  std::string(shard.key(row)));
    }
  }
}

/// Describes the field "objects" that shards written by packhorse hold, as `options` say what its
/// classes are; nothing without options. Each sample's field is read and checked. Throws
/// Error(kUsage) when the shards have no such field, Error(kCorrupt), naming the sample, for one
/// that is damaged or missing.
std::optional<TargetRecord> adopted_objects(const NamedShards& named,
                                            const std::vector<ScannedShard>& scanned,
                                            const MergedShards& merged,
                                            const TargetOptions& options) {
  if (options.empty()) return std::nullopt;
  const SampleTargets targets(options);
  TargetRecord target = targets.target();
  if (std::ranges::find(merged.fields, target.name) == merged.fields.end())
    throw Error(ErrorKind::kUsage,
                "the shards have no field '" + target.name +
                    "', and nothing can be added to them where they are",
                named.shards.front().entry, "pack them: `pack(SHARDS, OUT, targets=...)`");
  if (options.has_files()) target.head = targets.head("");
  for (std::size_t i = 0; i < scanned.size(); ++i)
    check_shard(named.shards[i].data_file(), scanned[i], merged.labels[i], target);
  return target;
}

std::map<std::string, std::string> array_names(const ArrayNames& names) {
  std::map<std::string, std::string> given = {{"images", names.images},
                                              {"offsets", names.offsets},
                                              {"labels", names.labels},
                                              {"keys", names.keys}};
  std::erase_if(given, [](const auto& item) { return item.second.empty(); });
  return given;
}

std::vector<ScannedShard> scan_all(const NamedShards& named, const AdoptOptions& options,
                                   Progress& progress) {
  std::vector<ScannedShard> scanned(named.shards.size());
  run_parallel(
      options.jobs > 0 ? options.jobs : available_cpus(), named.shards.size(), [&](std::size_t i) {
        const NamedShard& shard = named.shards[i];
        scanned[i] = scan_shard(*named.format, shard.data_file(), shard.name(), options, progress);
      });
  for (std::size_t i = 1; i < scanned.size(); ++i) {
    if (scanned[i].layout == scanned.front().layout) continue;
    throw Error(ErrorKind::kUsage,
                "the shards have different layouts: " + scanned.front().layout + " and " +
                    scanned[i].layout,
                named.shards[i].entry, "adopt the shards of one layout at a time");
  }
  return scanned;
}

/// Stages the index files, the class list and the rejects; returns the manifest, not yet written.
Manifest write_staged(const NamedShards& named, const std::vector<ScannedShard>& scanned,
                      const MergedShards& merged, const AdoptOptions& options,
                      const std::vector<Reject>& rejects, const fs::path& staged) {
  Manifest manifest;
  manifest.version = version();
  manifest.format = named.format->name;
  manifest.format_version = named.format->version;
  manifest.fields = merged.fields;
  manifest.adopted = {scanned.front().layout, merged.labels_from, merged.qualified_keys,
                      array_names(options.shards.arrays)};
  if (const auto target = adopted_objects(named, scanned, merged, options.targets))
    manifest.targets.push_back(*target);
  manifest.shuffle = false;
  manifest.class_samples.resize(merged.classes.size());
  bool raw = false;
  for (std::size_t i = 0; i < scanned.size(); ++i) {
    const ScannedShard& shard = scanned[i];
    ShardRecord record;
    record.file = named.shards[i].file;
    record.index = index_name(named.shards[i]);
    record.bytes = shard.bytes;
    record.sha256 = shard.sha256;
    record.first_sample = manifest.samples;
    const std::string index = index_of(shard, i, merged, named.shards[i].name());
    write_file(staged / record.index, as_bytes(index));
    record.index_bytes = index.size();
    record.index_sha256 = sha256(as_bytes(index));
    for (std::size_t row = 0; row < shard.rows.size(); ++row) {
      if (merged.labels[i][row] < 0) continue;
      ++record.samples;
      manifest.payload_bytes += shard.rows[row].range.length;
      ++manifest.class_samples[static_cast<std::size_t>(merged.labels[i][row])];
      raw = raw || shard.rows[row].image.kind == ImageKind::kRaw;
    }
    manifest.samples += record.samples;
    manifest.shards.push_back(std::move(record));
  }
  manifest.image = (raw ? pixel_transform() : keeping_transform()).name;
  const auto add_file = [&](std::string_view name, const std::string& text) {
    write_file(staged / name, as_bytes(text));
    manifest.files.push_back({std::string(name), text.size(), sha256(as_bytes(text))});
  };
  add_file(kClassesName, class_list_text(merged.classes));
  if (!rejects.empty()) add_file(kRejectsName, rejects_text(rejects));
  return manifest;
}

/// Stages SHA256SUMS and dataset.json. Returns the bytes of everything staged.
std::uint64_t seal(const Manifest& manifest, const fs::path& staged) {
  write_file(staged / kSumsName, as_bytes(manifest.sums()));
  write_file(staged / kManifestName, as_bytes(manifest.serialise()));
  std::uint64_t bytes = 0;
  for (const fs::directory_entry& entry : entries_in(staged)) bytes += entry.file_size();
  return bytes;
}

}  // namespace

AdoptOptions AdoptOptions::of(const PackOptions& options) {
  AdoptOptions made;
  made.classes = options.list.classes;
  made.shards.fields = options.list.fields;
  made.targets = options.list.targets;
  made.max_rejects = options.max_rejects;
  made.limits = ImageLimits::of_pixels(options.limits.pixels);
  made.limits.first_frame = options.limits.first_frame;
  made.limits.bands = options.limits.bands;
  made.limits.pages_as_bands = options.limits.pages_as_bands;
  made.jobs = options.jobs;
  made.overwrite = options.overwrite;
  return made;
}

void AdoptOptions::validate() const {
  if (jobs < 0) throw Error(ErrorKind::kUsage, "jobs must not be negative");
  targets.validate();
  limits.validate();
}

PackReport adopt(const std::vector<fs::path>& named_paths, const AdoptOptions& options,
                 Progress* progress, std::stop_token stop) {
  const StopScope scope(stop);
  options.validate();
  for (const fs::path& path : named_paths) refuse_url(path.native());
  if (options.out) refuse_url(options.out->native());
  const auto begin = std::chrono::steady_clock::now();
  Progress unseen;
  if (progress == nullptr) progress = &unseen;
  const NamedShards named = find_named_shards(named_paths);
  if (named.shards.empty()) throw Error(ErrorKind::kUsage, "no shards are given");
  AdoptionTarget target(named, options.out, options.overwrite);
  std::vector<ScannedShard> scanned = scan_all(named, options, *progress);

  AdoptOptions with_classes = options;
  if (const auto list = target.class_list(); options.classes.empty() && list)
    with_classes.classes = read_class_list(*list);
  PackReport report;
  MergedShards merged = merge_shards(named, scanned, with_classes, report.rejects);
  report.notes = std::move(merged.notes);
  if (options.targets.empty() &&
      std::ranges::find(merged.fields, kObjectsField) != merged.fields.end())
    report.notes.emplace_back("the field 'objects' is kept as any other: give " + opt("targets") +
                              " to say what its classes are");
  report.classes = merged.classes;
  for (ScannedShard& shard : scanned) {
    report.rejects.insert(report.rejects.end(), shard.rejects.begin(), shard.rejects.end());
    report.skips.insert(report.skips.end(), shard.skips.begin(), shard.skips.end());
    report.accounting.packed += shard.rows.size();
  }
  report.accounting.packed -= merged.rejected;
  std::ranges::sort(report.rejects, {}, &Reject::path);
  report.skipped_by_rule = count_by_rule(report.skips);
  report.accounting.rejected = report.rejects.size();
  report.accounting.skipped = report.skips.size();
  report.accounting.seen =
      report.accounting.packed + report.accounting.rejected + report.accounting.skipped;
  report.shards = scanned.size();
  if (report.accounting.packed == 0 && report.rejects.empty())
    throw Error(ErrorKind::kNotFound, "the shards hold no samples", named.shards.front().entry);

  if (report.accounting.packed > 0 &&
      report.accounting.rejected <= options.max_rejects.allowed(report.accounting.seen)) {
    Manifest manifest =
        write_staged(named, scanned, merged, options, report.rejects, target.staged());
    manifest.accounting = report.accounting;
    manifest.skipped_by_rule = report.skipped_by_rule;
    report.bytes_in = manifest.payload_bytes;
    report.bytes_out = seal(manifest, target.staged());
    report.id = manifest.id();
    obey_stop();
    target.publish(named, manifest);
    report.splits.push_back({"", options.out.value_or(target.path()), std::move(manifest)});
    report.published = true;
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

}  // namespace packhorse
