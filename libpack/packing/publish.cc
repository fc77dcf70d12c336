#include "packing/publish.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/stop.h"
#include "dataset/class_list.h"
#include "dataset/shard_index.h"
#include "formats/dataset_card.h"
#include "formats/exported_files.h"
#include "formats/format.h"
#include "packhorse/base/error.h"
#include "packhorse/version.h"

namespace packhorse {

namespace fs = std::filesystem;

std::vector<Reject> SplitWork::rejects() const {
  std::vector<Reject> all = listing.rejects;
  for (const ShardOutcome& outcome : outcomes) {
    all.insert(all.end(), outcome.rejects.begin(), outcome.rejects.end());
  }
  std::ranges::sort(all, {}, &Reject::path);
  return all;
}

ShardSink::Splits shards_of(const std::vector<SplitWork>& splits) {
  ShardSink::Splits shards;
  for (const SplitWork& split : splits)
    shards.emplace_back(split.listing.split, split.plan.shards());
  return shards;
}

std::string rejects_text(const std::vector<Reject>& rejects) {
  std::string text;
  for (const Reject& reject : rejects) {
    const nlohmann::ordered_json line = {{"path", without_secrets(reject.path)},
                                         {"reason", without_secrets(reject.reason)}};
    text += utf8_json(line) + "\n";
  }
  return text;
}

namespace {

FileRecord publish_text(const fs::path& directory, std::string_view name, const std::string& text) {
  write_file(directory / name, as_bytes(text));
  return {std::string(name), text.size(), sha256(as_bytes(text))};
}

/// Adds what was counted as a shard was written. Throws Error(kCorrupt | kIo) when its index is not
/// as long as it was then, or a label is no class.
void count_shard(const ShardOutcome& outcome, const fs::path& data, Manifest& manifest,
                 std::set<ImageKind>& kinds) {
  const fs::path index = data / outcome.record.index;
  std::error_code code;
  if (fs::file_size(index, code) != outcome.record.index_bytes || code)
    throw Error(ErrorKind::kCorrupt, "a finished shard's index is gone, or has changed", index,
                "run the same command again");
  manifest.payload_bytes += outcome.counts.payload_bytes;
  for (const auto& [label, samples] : outcome.counts.labels) {
    if (label < 0 || static_cast<std::uint64_t>(label) >= manifest.class_samples.size())
      throw Error(ErrorKind::kCorrupt, "a finished shard has a label that is no class", index,
                  "remove the staging directory, and run the same command again");
    manifest.class_samples[static_cast<std::size_t>(label)] += samples;
  }
  kinds.insert(outcome.counts.kinds.begin(), outcome.counts.kinds.end());
}

/// Writes everything but dataset.json, whose presence makes it a dataset. Adds the kinds of the
/// images to `kinds`.
Manifest describe(const SplitWork& split, const Listing& listing, const PackOptions& options,
                  const std::pair<std::string, std::string>& image, const Staging& staging,
                  std::set<ImageKind>& kinds) {
  const fs::path data = staging.data(split.listing.split);
  const Format& format = find_format(options.format);
  Manifest manifest;
  manifest.version = version();
  manifest.format = options.format;
  manifest.format_version = format.version;
  manifest.image = image.first;
  manifest.image_settings = image.second;
  manifest.fields = listing.stored_fields();
  manifest.targets = listing.targets;
  for (TargetRecord& target : manifest.targets) {
    if (target.kind == kObjectsTarget) target.head = split.listing.target_head;
  }
  if (options.zstd_level != 0) manifest.compress = fmt::format("zstd:{}", options.zstd_level);
  manifest.split = split.listing.split;
  manifest.shuffle = options.plan.shuffle;
  manifest.seed = options.plan.seed;
  manifest.shard_bytes = options.plan.shard_samples > 0 ? 0 : options.plan.shard_bytes;
  manifest.shard_samples = options.plan.shard_samples;
  manifest.class_samples.resize(listing.classes.size());
  for (const ShardOutcome& outcome : split.outcomes) {
    if (outcome.record.samples == 0) continue;
    ShardRecord record = outcome.record;
    record.first_sample = manifest.samples;
    manifest.samples += record.samples;
    count_shard(outcome, data, manifest, kinds);
    manifest.shards.push_back(std::move(record));
  }
  const std::vector<Reject> rejects = split.rejects();
  manifest.skipped_by_rule = count_by_rule(split.listing.skips);
  manifest.accounting = {
      split.listing.entries.size() + split.listing.rejects.size() + split.listing.skips.size(),
      manifest.samples, rejects.size(), split.listing.skips.size()};
  if (!manifest.accounting.balanced()) {
    throw Error(ErrorKind::kIo, "the accounting does not add up; nothing was published", data);
  }
  manifest.files.push_back(publish_text(data, kClassesName, class_list_text(listing.classes)));
  if (!rejects.empty())
    manifest.files.push_back(publish_text(data, kRejectsName, rejects_text(rejects)));
  for (FileRecord& file : publish_exported_files(data, manifest, options.jobs))
    manifest.files.push_back(std::move(file));
  return manifest;
}

void remove_stale(const std::vector<SplitWork>& splits, const Staging& staging) {
  std::vector<fs::path> keep;
  for (const SplitWork& split : splits) {
    for (const ShardOutcome& outcome : split.outcomes) {
      if (outcome.record.samples == 0) continue;
      keep.push_back(staging.data(split.listing.split) / outcome.record.file);
      keep.push_back(staging.data(split.listing.split) / outcome.record.index);
    }
  }
  Staging::remove_others(staging.data(""), keep);
}

std::string joint_id(const std::vector<PackedSplit>& splits) {
  if (splits.size() == 1) return splits.front().manifest.id();
  std::string ids;
  for (const PackedSplit& split : splits) ids += split.split + ' ' + split.manifest.id() + '\n';
  return sha256(as_bytes(ids));
}

/// `parts`: the splits, in their order.
void seal(PackReport& report, const Staging& staging, const std::vector<CardPart>& parts) {
  for (const PackedSplit& split : report.splits) {
    const fs::path data = staging.data(split.split);
    write_file(data / kSumsName, as_bytes(split.manifest.sums()));
    write_file(data / kManifestName, as_bytes(split.manifest.serialise()));
    for (const ShardRecord& shard : split.manifest.shards)  // at a URL they are not here any more
      report.bytes_out += fs::exists(data / shard.file) ? 0 : shard.bytes;
    for (const fs::directory_entry& entry : entries_below(data)) {
      if (entry.is_regular_file()) report.bytes_out += entry.file_size();
    }
  }
  // A dataset holds only what its manifest names, so the card lies beside datasets, never in one.
  const fs::path root = staging.data("");
  if (report.splits.front().split.empty()) return;
  if (write_card(root, parts) == CardOutcome::kWritten)
    report.bytes_out += fs::file_size(root / kCardName);
}

}  // namespace

void publish_splits(const std::vector<SplitWork>& splits, const Listing& listing,
                    const PackOptions& options, const fs::path& out,
                    const std::pair<std::string, std::string>& image, Staging& staging,
                    ShardSink& sink, PackReport& report) {
  remove_stale(splits, staging);
  std::vector<CardPart> parts;
  for (const SplitWork& split : splits) {
    const std::string& name = split.listing.split;
    make_directories(staging.data(name));  // an empty split's directory was removed
    std::set<ImageKind> kinds;
    report.splits.push_back({name, name.empty() ? out : out / name,
                             describe(split, listing, options, image, staging, kinds)});
    parts.push_back({staging.data(name), std::move(kinds)});
  }
  seal(report, staging, parts);
  report.id = joint_id(report.splits);
  obey_stop();
  sink.publish(staging, report.splits, shards_of(splits));
  report.published = true;
}

}  // namespace packhorse
