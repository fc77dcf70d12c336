#include "packhorse/packing/pack.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

#include "annotations/sample_targets.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "packhorse/base/hash.h"
#include "packhorse/base/printable.h"
#include "packhorse/base/resources.h"
#include "packhorse/base/version.h"
#include "packhorse/dataset/class_list.h"
#include "packing/pack_item.h"
#include "packing/pack_shard.h"
#include "packing/preview.h"
#include "packing/publish.h"
#include "packing/space.h"
#include "packing/staging.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// Everything one call to pack() works on, from the source to the plan of each split.
struct Job {
  PackOptions options;
  std::unique_ptr<Source> source;
  Listing listing;
  Selection selection;
  bool keep_keys = false;
  std::vector<SplitWork> splits;
};

bool is_mine(const PackOptions& options, std::size_t shard) {
  return !options.task || shard % options.task->count == options.task->index;
}

/// Refuses fields that the format has no place for.
void refuse_fields(const Job& job) {
  const Format& format = find_format(job.options.format);
  const std::vector<std::string> fields = job.listing.stored_fields();
  if (!fields.empty() && !format.carries_fields) {
    std::string carriers;
    for (const Format* other : all_formats()) {
      if (other->carries_fields)
        carriers += (carriers.empty() ? "" : ", ") + std::string(other->name);
    }
    throw Error(ErrorKind::kUsage,
                fmt::format("the format {} cannot hold the extra fields {}", format.name,
                            fmt::join(fields, ", ")),
                {}, "choose one that can (" + carriers + "), or leave them out with --fields none");
  }
}

/// An image mode and its settings, as the manifest names them.
using ImageMode = std::pair<std::string, std::string>;

ImageMode mode_of(const Source& source) { return {source.image_mode(), source.image_settings()}; }

/// The image mode of the new dataset; when the images of a packed source are kept as they are, it
/// is the mode of that source.
ImageMode image_mode(const Source& source, const PackOptions& options) {
  const TransformKind& kind = find_transform(options.image);
  if (kind.keeps) return mode_of(source);
  return {options.image, kind.settings(options.transform)};
}

/// Refuses decoded pixels at once, rather than reject image after image for the same reason.
void refuse_pixels(const Source& source, const PackOptions& options) {
  const auto kinds = all_transforms();
  const auto held = std::find_if(kinds.begin(), kinds.end(), [&](const TransformKind& kind) {
    return kind.name == source.image_mode();
  });
  if (held == kinds.end() || !held->makes_pixels) return;
  if (mode_of(source) == image_mode(source, options)) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("the source holds decoded pixels ({} {}), which the image mode {} cannot "
                          "work on with these settings",
                          held->name, source.image_settings(), options.image),
              {}, "keep the pixels as they are, or pack from the original images");
}

/// Refuses an image mode that would cut objects off, and says what one that moves them leaves out.
void check_targets(const Source& source, const PackOptions& options, Listing& listing) {
  if (listing.targets.empty()) return;
  const TransformKind& mode = find_transform(options.image);
  const bool changes = mode_of(source) != image_mode(source, options);
  for (const TargetRecord& target : listing.targets) {
    if (changes && (mode.makes_pixels || mode.uses_setting("short_side")))
      listing.notes.push_back(
          "images that are made smaller, larger or turned are packed without the "
          "field '" +
          target.text + "', whose numbers would not fit them");
  }
  if (!changes || !mode.makes_pixels || options.transform.fit != TransformOptions::Fit::kCrop)
    return;
  throw Error(ErrorKind::kUsage, "--image raw cuts the images, and with them their objects", {},
              "give --fit letterbox, or another image mode");
}

/// Lists the source, selects samples and plans the shards.
Job prepare(const fs::path& source_path, const fs::path& out, const PackOptions& options,
            Progress& progress, const std::stop_token& stop) {
  Job job;
  job.options = options;
  job.source = open_source(source_path, options.source_kind, options.list);
  refuse_pixels(*job.source, options);
  if (!options.dry_run) check_target(source_path, out, options.overwrite);
  ListOptions list = options.list;
  if (list.scratch.empty() && !options.dry_run) list.scratch = fs::absolute(out).parent_path();
  job.listing = list_source(*job.source, list);
  check_targets(*job.source, options, job.listing);
  if (!list.allow_odd_classes && !job.listing.doubts.empty())
    refuse(job.listing.doubts.front(), source_path);
  class_list_text(job.listing.classes);  // refuses names it cannot hold before any work is done
  refuse_fields(job);
  job.keep_keys = job.source->ordered() && !options.reorder;
  if (job.keep_keys) job.options.plan.shuffle = false;
  SelectOptions select_options = options.select;
  select_options.seed = options.plan.seed;
  select_options.in_order = !job.options.plan.shuffle;
  if (select_options.jobs == 0) select_options.jobs = options.jobs;
  job.selection = select(*job.source, job.listing, select_options, progress, stop);
  job.splits.reserve(job.listing.splits.size());
  for (const SplitListing& split : job.listing.splits)
    job.splits.emplace_back(split, job.options.plan);
  return job;
}

/// Names what all tasks of one job must have in common.
std::string name_of_job(const Job& job) {
  const PackOptions& o = job.options;
  std::string text =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {}\n", version(), o.format, o.zstd_level, o.image,
                  find_transform(o.image).settings(o.transform), name_of_checks(o), o.plan.shuffle,
                  o.plan.seed, o.plan.shard_bytes, o.plan.shard_samples, job.keep_keys);
  for (const std::string& name : job.listing.classes) text += name + "\n";
  const SelectOptions& select = o.select;
  text += fmt::format("{}\n{}\n{}\n{} {} {} {}\n", fmt::join(job.listing.stored_fields(), " "),
                      fmt::join(select.include, "\n"), fmt::join(select.exclude, "\n"),
                      static_cast<int>(select.duplicates), fmt::join(select.split, ":"),
                      select.limit, select.samples_per_class);
  if (job.listing.made_targets) text += job.listing.made_targets->fingerprint();
  return "pack\n" + sha256(as_bytes(text)) + "\n";
}

std::vector<ShardJob> shard_jobs(const Job& job, const Staging& staging, std::size_t tokens,
                                 ReadAhead* read_ahead) {
  std::vector<ShardJob> jobs;
  for (const SplitWork& split : job.splits) {
    const std::string& name = split.listing.split;
    make_directories(staging.data(name));
    make_directories(staging.receipts(name));
    jobs.push_back({*job.source, job.listing, split.listing, split.plan, job.options, job.keep_keys,
                    staging.data(name), staging.receipts(name), tokens, read_ahead});
  }
  return jobs;
}

/// Calls work(split, shard) for each pair in `todo`, `jobs` at a time, in a TBB arena.
template <class Work>
void for_each_shard(int jobs, const std::vector<std::pair<std::size_t, std::size_t>>& todo,
                    const Work& work) {
  const std::size_t workers = std::min(static_cast<std::size_t>(jobs), todo.size());
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(jobs));
  tbb::task_arena arena(jobs);
  arena.execute([&] {
    std::atomic<std::size_t> next{0};
    tbb::task_group group;
    for (std::size_t worker = 0; worker < workers; ++worker) {
      group.run([&] {
        // A failure in one worker cancels the group; the others must not go on packing.
        for (std::size_t i = next++; i < todo.size() && !tbb::is_current_task_group_canceling();
             i = next++) {
          work(todo[i].first, todo[i].second);
        }
      });
    }
    group.wait();
  });
}

/// Packs every shard of every split, or a task's share of them. All threads take shards first; a
/// thread that finds none left helps with the shards still being packed.
void pack_shards(Job& job, const Staging& staging, Progress& progress,
                 const std::stop_token& stop) {
  std::vector<std::pair<std::size_t, std::size_t>> todo;  // (split, shard)
  for (std::size_t s = 0; s < job.splits.size(); ++s) {
    for (std::size_t shard = 0; shard < job.splits[s].plan.shards(); ++shard) {
      if (is_mine(job.options, shard)) todo.emplace_back(s, shard);
    }
  }
  const int jobs = job.options.jobs > 0 ? job.options.jobs : available_cpus();
  const std::size_t tokens =
      todo.size() >= static_cast<std::size_t>(jobs) ? 4 : 2 * static_cast<std::size_t>(jobs) + 2;
  ReadAhead read_ahead(*job.source);
  const std::vector<ShardJob> shards = shard_jobs(job, staging, tokens, &read_ahead);
  for_each_shard(jobs, todo, [&](std::size_t split, std::size_t shard) {
    job.splits[split].outcomes[shard] = pack_shard(shards[split], shard, progress, stop);
  });
}

/// Collects the shards that tasks have packed.
void collect_shards(Job& job, const Staging& staging, Progress& progress,
                    const std::stop_token& stop) {
  std::vector<std::pair<std::size_t, std::size_t>> todo;
  for (std::size_t s = 0; s < job.splits.size(); ++s) {
    for (std::size_t shard = 0; shard < job.splits[s].plan.shards(); ++shard)
      todo.emplace_back(s, shard);
  }
  const std::vector<ShardJob> shards = shard_jobs(job, staging, 1, nullptr);
  std::mutex mutex;
  std::vector<std::pair<std::size_t, std::size_t>> missing;
  for_each_shard(job.options.jobs > 0 ? job.options.jobs : available_cpus(), todo,
                 [&](std::size_t split, std::size_t shard) {
                   if (stop.stop_requested())
                     throw Error(ErrorKind::kInterrupted, "stopped on request");
                   if (auto kept = kept_shard(shards[split], shard, progress)) {
                     job.splits[split].outcomes[shard] = std::move(*kept);
                   } else {
                     const std::scoped_lock lock(mutex);
                     missing.emplace_back(split, shard);
                   }
                 });
  if (missing.empty()) return;
  std::sort(missing.begin(), missing.end());
  std::string names;
  for (std::size_t i = 0; i < missing.size() && i < 20; ++i) {
    const std::string& split = job.splits[missing[i].first].listing.split;
    names += fmt::format("{}{}{}{}", i == 0 ? "" : ", ", split, split.empty() ? "" : "/",
                         missing[i].second);
  }
  throw Error(ErrorKind::kNotFound,
              fmt::format("{} of {} shards are not packed yet, or were packed from a source that "
                          "has changed since, or by another version: number {}{}",
                          missing.size(), todo.size(), names, missing.size() > 20 ? ", ..." : ""),
              staging.root(),
              "task I/N packs the shards whose number modulo N is I: run those tasks again, then "
              "--finish; finished shards are kept");
}

/// How many finished shards were made by other versions, by version.
std::map<std::string, std::size_t> other_versions(const Job& job) {
  std::map<std::string, std::size_t> shards;
  for (const SplitWork& split : job.splits) {
    for (const ShardOutcome& outcome : split.outcomes) {
      if (!outcome.other_version.empty()) ++shards[outcome.other_version];
    }
  }
  return shards;
}

/// What helps when most rejects have one reason.
std::string advice_about(const std::vector<Reject>& rejects) {
  const auto fieldless = static_cast<std::size_t>(std::count_if(
      rejects.begin(), rejects.end(),
      [](const Reject& reject) { return reject.reason.starts_with(naming::kNoField); }));
  if (fieldless > 0 && 2 * fieldless >= rejects.size())
    return "give --optional-field-from instead of --field-from if not every image has the field, "
           "or add the missing files";
  const auto outside = static_cast<std::size_t>(
      std::count_if(rejects.begin(), rejects.end(),
                    [](const Reject& reject) { return reject.reason == naming::kNoClassFolder; }));
  if (outside == 0 || 2 * outside < rejects.size()) return {};
  return "move the images that lie beside the class folders into them, leave those out with "
         "--exclude, or give the labels of all images with --labels FILE or, from their names, "
         "with --label-pattern";
}

void account(PackReport& report, const Job& job) {
  const auto add_skips = [&](const std::vector<Skip>& skips, const std::string& prefix) {
    for (const Skip& skip : skips) {
      ++report.skipped_by_rule[std::string(skip.rule)];
      report.skips.push_back({prefix + skip.path, skip.rule});
    }
  };
  add_skips(job.listing.skips, "");
  report.classes = job.listing.classes;
  report.notes = job.listing.notes;
  report.notes.insert(report.notes.end(), job.selection.notes.begin(), job.selection.notes.end());
  report.duplicates = job.selection.duplicates;
  for (const SplitWork& split : job.splits) {
    const std::string& folder = split.listing.prefix();
    const std::string prefix = folder.empty() ? "" : printable(folder) + "/";
    add_skips(split.listing.skips, prefix);
    for (Reject& reject : split.rejects())
      report.rejects.push_back({prefix + reject.path, std::move(reject.reason)});
    for (std::size_t shard = 0; shard < split.plan.shards(); ++shard) {
      const ShardOutcome& outcome = split.outcomes[shard];
      if (is_mine(job.options, shard)) ++report.shards;
      report.accounting.packed += outcome.record.samples;
      report.bytes_in += outcome.bytes_in;
      if (outcome.kept) ++report.shards_kept;
      for (const auto& [note, count] : outcome.notes) report.image_notes[note] += count;
    }
  }
  for (const auto& [made_by, shards] : other_versions(job)) {
    report.notes.push_back(fmt::format("{} finished shard{} of packhorse {} {} made again by {}",
                                       shards, shards == 1 ? "" : "s", made_by,
                                       shards == 1 ? "was" : "were", version()));
  }
  report.advice = advice_about(report.rejects);
  report.accounting.seen = job.listing.seen();
  report.accounting.rejected = report.rejects.size();
  report.accounting.skipped = report.skips.size();
}

/// Writes the rejects when there are more than the limit.
void write_rejects(PackReport& report, const Staging& staging) {
  report.rejects_file = staging.root() / kRejectsName;
  write_file(report.rejects_file, as_bytes(rejects_text(report.rejects)));
}

}  // namespace

PackReport pack(const fs::path& source, const fs::path& out, const PackOptions& options,
                Progress* progress, std::stop_token stop) {
  options.validate();
  refuse_url(out.native());
  const auto begin = std::chrono::steady_clock::now();
  Progress unseen;
  if (progress == nullptr) progress = &unseen;
  Job job = prepare(source, out, options, *progress, stop);
  PackReport report;
  report.estimate = estimate_bytes(job.splits, job.listing, job.options);
  const auto finished = [&] {
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(report);
  };
  if (options.dry_run) {
    account(report, job);
    report.accounting.packed =
        report.accounting.seen - report.accounting.rejected - report.accounting.skipped;
    report.preview = preview_of(job.splits, job.listing.fields, report);
    return finished();
  }
  for (const SplitWork& split : job.splits) {
    for (std::size_t shard = 0; shard < split.plan.shards(); ++shard) {
      if (is_mine(options, shard))
        progress->total_samples +=
            split.plan.shard_begin(shard + 1) - split.plan.shard_begin(shard);
    }
  }
  Staging staging(out, options.task ? Staging::Hold::kShared : Staging::Hold::kAlone,
                  name_of_job(job));
  if (options.finish) {
    collect_shards(job, staging, *progress, stop);
  } else {
    if (options.check_space) check_space(report.estimate, staging.root());
    pack_shards(job, staging, *progress, stop);
  }
  account(report, job);
  if (options.task) return finished();
  if (report.accounting.packed > 0 &&
      report.accounting.rejected <= options.max_rejects.allowed(report.accounting.seen)) {
    publish_splits(job.splits, job.listing, job.options, out, image_mode(*job.source, options),
                   staging, stop, report);
  } else if (report.accounting.packed == 0) {
    staging.discard();
  } else {
    write_rejects(report, staging);
  }
  return finished();
}

}  // namespace packhorse
