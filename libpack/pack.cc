#include "packhorse/pack.h"

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "pack_shard.h"
#include "packhorse/error.h"
#include "packhorse/file.h"
#include "packhorse/shard_index.h"
#include "packhorse/version.h"
#include "staging.h"

namespace packhorse {

namespace fs = std::filesystem;

std::uint64_t RejectLimit::allowed(std::uint64_t seen) const {
  return percent
             ? static_cast<std::uint64_t>(std::floor(*percent / 100 * static_cast<double>(seen)))
             : count;
}

RejectLimit RejectLimit::parse(const std::string& text) {
  RejectLimit limit;
  std::size_t used = 0;
  try {
    if (text.ends_with('%')) {
      limit.percent = std::stod(text, &used);
      if (used + 1 == text.size() && *limit.percent >= 0 && *limit.percent <= 100) return limit;
    } else if (!text.empty() && text.front() >= '0' &&
               text.front() <= '9') {  // stoull takes " -1" for 2^64 - 1
      limit.count = std::stoull(text, &used);
      if (used == text.size()) return limit;
    }
  } catch (const std::logic_error&) {  // falls through to the one message
  }
  throw Error(ErrorKind::kUsage, "'" + text + "' is no limit for rejects", {},
              "say a number, or a percentage like 0.5%");
}

void PackOptions::validate() const {
  find_format(format);
  find_transform(image);
  if (jobs < 0) throw Error(ErrorKind::kUsage, "jobs must not be negative");
  if (max_pixels == 0) throw Error(ErrorKind::kUsage, "the pixel limit must be positive");
}

namespace {

std::uint64_t sum(const std::map<std::string, std::uint64_t>& by_rule) {
  std::uint64_t total = 0;
  for (const auto& [rule, count] : by_rule) total += count;
  return total;
}

FileRecord publish_text(const fs::path& directory, std::string_view name, const std::string& text) {
  write_file(directory / name, as_bytes(text));
  return {std::string(name), text.size(), sha256(as_bytes(text))};
}

std::string rejects_text(const std::vector<Reject>& rejects) {
  using Json = nlohmann::ordered_json;
  std::string text;
  for (const Reject& reject : rejects) {
    const Json line = {{"path", reject.path}, {"reason", reject.reason}};
    text += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return text;
}

/// One split on its way from listing to manifest.
struct SplitWork {
  SplitWork(const SplitListing& split, const PlanOptions& options)
      : listing(split), plan(split.entries, options), outcomes(plan.shards()) {}
  const SplitListing& listing;
  Plan plan;
  std::vector<ShardOutcome> outcomes;

  std::vector<Reject> rejects() const {
    std::vector<Reject> all = listing.rejects;
    for (const ShardOutcome& outcome : outcomes) {
      all.insert(all.end(), outcome.rejects.begin(), outcome.rejects.end());
    }
    std::sort(all.begin(), all.end(),
              [](const Reject& a, const Reject& b) { return a.path < b.path; });
    return all;
  }
};

/// Packs every shard of every split, `jobs` at a time. All threads first take shards; those that
/// find none left help with the shards still in the making.
void pack_shards(const Source& source, const Listing& listing, std::vector<SplitWork>& splits,
                 const PackOptions& options, const Staging& staging, Progress& progress,
                 const std::stop_token& stop) {
  const int jobs = options.jobs > 0 ? options.jobs : available_cpus();
  std::vector<ShardJob> shard_jobs;
  std::vector<std::pair<std::size_t, std::size_t>> todo;  // (split, shard)
  for (std::size_t s = 0; s < splits.size(); ++s) {
    const std::string& name = splits[s].listing.split;
    make_directories(staging.data(name));
    make_directories(staging.receipts(name));
    for (std::size_t shard = 0; shard < splits[s].plan.shards(); ++shard)
      todo.emplace_back(s, shard);
  }
  const std::size_t workers = std::min(static_cast<std::size_t>(jobs), todo.size());
  const std::size_t tokens =
      todo.size() >= static_cast<std::size_t>(jobs) ? 4 : 2 * static_cast<std::size_t>(jobs) + 2;
  for (const SplitWork& split : splits) {
    shard_jobs.push_back({source, split.listing, split.plan, find_format(options.format),
                          find_transform(options.image), options.transform, listing.fields,
                          options.zstd_level, listing.classes, options.max_pixels,
                          staging.data(split.listing.split), staging.receipts(split.listing.split),
                          tokens});
  }
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(jobs));
  tbb::task_arena arena(jobs);
  arena.execute([&] {
    std::atomic<std::size_t> next{0};
    tbb::task_group group;
    for (std::size_t worker = 0; worker < workers; ++worker) {
      group.run([&] {
        // A failure in one worker cancels the group; it must not leave the others packing on.
        for (std::size_t i = next++; i < todo.size() && !tbb::is_current_task_group_canceling();
             i = next++) {
          const auto [split, shard] = todo[i];
          splits[split].outcomes[shard] = pack_shard(shard_jobs[split], shard, progress, stop);
        }
      });
    }
    group.wait();
  });
}

/// Everything but dataset.json, which makes it a dataset.
Manifest describe(const SplitWork& split, const Listing& listing, const PackOptions& options,
                  const Staging& staging) {
  const fs::path data = staging.data(split.listing.split);
  const Format& format = find_format(options.format);
  Manifest manifest;
  manifest.version = version();
  manifest.format = options.format;
  manifest.format_version = format.version;
  manifest.image = options.image;
  manifest.image_settings = find_transform(options.image).settings(options.transform);
  manifest.fields = listing.fields;
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
    const ShardIndex index(data / record.index);
    for (std::size_t i = 0; i < index.size(); ++i) {
      manifest.payload_bytes += index.range(i).length;
      ++manifest.class_samples.at(static_cast<std::size_t>(index.label(i)));
    }
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

void seal(PackReport& report, const Staging& staging) {
  for (const PackedSplit& split : report.splits) {
    const fs::path data = staging.data(split.split);
    write_file(data / kSumsName, as_bytes(split.manifest.sums()));
    write_file(data / kManifestName, as_bytes(split.manifest.serialise()));
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(data)) {
      if (entry.is_regular_file()) report.bytes_out += entry.file_size();
    }
  }
}

void account(PackReport& report, const Listing& listing, const std::vector<SplitWork>& splits) {
  report.skipped_by_rule = count_by_rule(listing.skips);
  for (const SplitWork& split : splits) {
    for (const Skip& skip : split.listing.skips) ++report.skipped_by_rule[std::string(skip.rule)];
    const std::string prefix = split.listing.split.empty() ? "" : split.listing.split + "/";
    for (Reject& reject : split.rejects()) {
      report.rejects.push_back({prefix + reject.path, std::move(reject.reason)});
    }
    report.shards += split.plan.shards();
    for (const ShardOutcome& outcome : split.outcomes) {
      report.accounting.packed += outcome.record.samples;
      report.bytes_in += outcome.bytes_in;
      report.shards_kept += outcome.kept ? 1 : 0;
    }
  }
  report.accounting.seen = listing.seen();
  report.accounting.rejected = report.rejects.size();
  report.accounting.skipped = sum(report.skipped_by_rule);
}

}  // namespace

PackReport pack(const fs::path& source_path, const fs::path& out, const PackOptions& options,
                Progress* progress, std::stop_token stop) {
  options.validate();
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  Progress unseen;
  if (progress == nullptr) progress = &unseen;
  const std::unique_ptr<Source> source = open_source(source_path);
  if (!options.dry_run) check_target(source_path, out, options.overwrite);
  const Listing listing = source->list(options.list);
  class_list_text(listing.classes);  // refuses names it cannot hold before any work is done
  std::vector<SplitWork> splits;
  splits.reserve(listing.splits.size());
  for (const SplitListing& split : listing.splits) {
    splits.emplace_back(split, options.plan);
    progress->total_samples += split.entries.size();
  }

  PackReport report;
  if (options.dry_run) {
    account(report, listing, splits);
    report.accounting.packed =
        report.accounting.seen - report.accounting.rejected - report.accounting.skipped;
    report.seconds = seconds();
    return report;
  }
  Staging staging(out);
  pack_shards(*source, listing, splits, options, staging, *progress, stop);
  account(report, listing, splits);
  if (report.accounting.packed > 0 &&
      report.accounting.rejected <= options.max_rejects.allowed(report.accounting.seen)) {
    remove_stale(splits, staging);
    for (const SplitWork& split : splits) {
      const std::string& name = split.listing.split;
      make_directories(staging.data(name));  // one without a sample was empty, and removed
      report.splits.push_back(
          {name, name.empty() ? out : out / name, describe(split, listing, options, staging)});
    }
    seal(report, staging);
    report.id = joint_id(report.splits);
    if (stop.stop_requested()) throw Error(ErrorKind::kInterrupted, "stopped on request");
    staging.publish(options.overwrite);
    report.published = true;
  } else {
    report.rejects_file = staging.root() / kRejectsName;
    write_file(report.rejects_file, as_bytes(rejects_text(report.rejects)));
  }
  report.seconds = seconds();
  return report;
}

}  // namespace packhorse
