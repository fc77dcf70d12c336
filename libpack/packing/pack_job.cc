#include "packing/pack_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "base/file.h"
#include "base/option.h"
#include "base/printable.h"
#include "base/resources.h"
#include "base/stop.h"
#include "dataset/class_list.h"
#include "formats/format.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/version.h"
#include "packing/pack_shard.h"
#include "packing/receipt.h"
#include "packing/task_note.h"
#include "transforms/transform.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

bool is_mine(const PackOptions& options, std::size_t shard) {
  return !options.task || shard % options.task->count == options.task->index;
}

/// Refuses fields that the format has no place for.
void refuse_fields(const PackJob& job) {
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
                {}, "choose one that can (" + carriers + "), or leave them out with `fields=none`");
  }
}

/// What is decided about the shards before any work is done.
std::vector<std::string> notes_on_shards(const PackJob& job) {
  std::vector<std::string> notes;
  const ExportedIndexes* indexes = exported_indexes_of(job.options.format);
  if (indexes != nullptr && job.options.zstd_level == 0) {
    if (const std::string why = indexes->why_not(job.listing.stored_fields()); !why.empty())
      notes.push_back(why + ": none is written beside the shards; all else is as ever");
  }
  std::size_t shards = 0, samples = 0;
  for (const SplitWork& split : job.splits) {
    shards += split.plan.shards();
    samples += split.plan.size();
  }
  if (shards > job.splits.size() && job.options.plan.shard_samples == 0 &&
      2 * samples < 3 * shards) {
    notes.push_back(
        fmt::format("{} images are so large for shards of {} bytes that they become {} shards, "
                    "most of them of a single image",
                    samples, job.options.plan.shard_bytes, shards));
  }
  return notes;
}

std::vector<ShardJob> shard_jobs(const PackJob& job, const Staging& staging, std::size_t tokens,
                                 ReadAhead* read_ahead) {
  std::vector<ShardJob> jobs;
  for (const SplitWork& split : job.splits) {
    const std::string& name = split.listing.split;
    make_directories(staging.data(name));
    make_directories(staging.receipts(name));
    jobs.push_back({*job.source, job.listing, split.listing, split.plan, job.options, job.keep_keys,
                    staging.data(name), staging.receipts(name), tokens, read_ahead});
    jobs.back().is_stored = [&name, sink = job.sink.get()](const ShardRecord& record) {
      return sink->holds(name, record);
    };
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
  const std::stop_token stop = current_stop();
  tbb::task_arena arena(jobs);
  arena.execute([&] {
    std::atomic<std::size_t> next{0};
    tbb::task_group group;
    for (std::size_t worker = 0; worker < workers; ++worker) {
      group.run([&] {
        const StopScope scope(stop);
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
void pack_shards(PackJob& job, const Staging& staging, Progress& progress) {
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
    const ShardJob& one = shards[split];
    ShardOutcome& outcome = job.splits[split].outcomes[shard];
    outcome = pack_shard(one, shard, progress);
    job.sink->add(staging, {one.split.split, shard, outcome});
  });
  job.sink->finish();
}

/// Hands over what pack_shards() had to hold back.
void settle_rest(const PackJob& job, const Staging& staging) {
  for (const SplitWork& split : job.splits) {
    for (std::size_t shard = 0; shard < split.outcomes.size(); ++shard) {
      const ShardOutcome& outcome = split.outcomes[shard];
      if (outcome.may_change) job.sink->settle(staging, {split.listing.split, shard, outcome});
    }
  }
  job.sink->finish();
}

/// Collects the shards that tasks have packed.
void collect_shards(PackJob& job, const Staging& staging, Progress& progress) {
  std::vector<std::pair<std::size_t, std::size_t>> todo;
  for (std::size_t s = 0; s < job.splits.size(); ++s) {
    for (std::size_t shard = 0; shard < job.splits[s].plan.shards(); ++shard)
      todo.emplace_back(s, shard);
  }
  const std::vector<ShardJob> shards = shard_jobs(job, staging, 1, nullptr);
  job.sink->bring_all(staging, shards_of(job.splits));
  std::mutex mutex;
  std::vector<std::pair<std::size_t, std::size_t>> missing;
  for_each_shard(
      job.options.jobs > 0 ? job.options.jobs : available_cpus(), todo,
      [&](std::size_t split, std::size_t shard) {
        obey_stop();
        const ShardJob& one = shards[split];
        auto kept = kept_shard(one, shard, progress);
        // What lies here may be from before another machine packed it again.
        if (!kept && job.sink->bring(staging, one.split.split, shard, data_path_of(one, shard)))
          kept = kept_shard(one, shard, progress);
        if (kept) {
          ShardOutcome& outcome = job.splits[split].outcomes[shard];
          outcome = std::move(*kept);
          job.sink->add(staging, {one.split.split, shard, outcome});
        } else {
          const std::scoped_lock lock(mutex);
          missing.emplace_back(split, shard);
        }
      });
  job.sink->finish();
  if (missing.empty()) return;
  if (job.sink->clear_if_finished(shards_of(job.splits))) {
    throw Error(ErrorKind::kExists, "another machine has finished the dataset", staging.root(),
                "remove this directory if it holds nothing of another dataset");
  }
  std::ranges::sort(missing);
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
              "`finish=true`; finished shards are kept");
}

/// How many finished shards were made by other versions, by version.
std::map<std::string, std::size_t> other_versions(const PackJob& job) {
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
  const auto fieldless =
      static_cast<std::size_t>(std::ranges::count(rejects, Reason::kNoField, &Reject::code));
  if (fieldless > 0 && 2 * fieldless >= rejects.size())
    return spelled(
        "give `optional_field_from=` instead of `field_from=` if not every image has the field, or "
        "add the missing files");
  const auto outside =
      static_cast<std::size_t>(std::ranges::count(rejects, Reason::kNoClassFolder, &Reject::code));
  if (outside == 0 || 2 * outside < rejects.size()) return {};
  return spelled(
      "move the images that lie beside the class folders into them, leave those out with "
      "`exclude=`, or give the labels of all images with `labels=FILE` or, from their names, with "
      "`label_pattern=`");
}

/// Writes the rejects when there are more than the limit.
void write_rejects(PackReport& report, const Staging& staging) {
  report.rejects_file = staging.root() / kRejectsName;
  write_file(report.rejects_file, as_bytes(rejects_text(report.rejects)));
}

/// What the disk must hold of a dataset of `estimate` bytes: where shards leave it, some of them.
std::uint64_t needed_here(const PackJob& job, std::uint64_t estimate) {
  std::size_t shards = 0;
  for (const SplitWork& split : job.splits)
    for (std::size_t shard = 0; shard < split.plan.shards(); ++shard)
      shards += is_mine(job.options, shard) ? 1u : 0u;
  const auto jobs =
      static_cast<std::size_t>(job.options.jobs > 0 ? job.options.jobs : available_cpus());
  const std::size_t waiting = job.sink->most_waiting();
  if (shards <= waiting || shards - waiting <= jobs) return estimate;
  return estimate / shards * (waiting + jobs);
}

/// Says who packs which shards.
LivingNote note_of(const PackJob& job, const Staging& staging) {
  std::vector<std::string> splits;
  std::vector<std::uint64_t> shards;
  for (const SplitWork& split : job.splits) {
    splits.push_back(split.listing.split);
    shards.push_back(split.plan.shards());
  }
  return {staging.root(), job.options.task, std::move(splits), std::move(shards)};
}

/// How many samples the shards hold that are to be packed here.
std::uint64_t samples_to_pack(const PackJob& job) {
  std::uint64_t samples = 0;
  for (const SplitWork& split : job.splits) {
    for (std::size_t shard = 0; shard < split.plan.shards(); ++shard) {
      if (is_mine(job.options, shard))
        samples += split.plan.shard_begin(shard + 1) - split.plan.shard_begin(shard);
    }
  }
  return samples;
}

}  // namespace

ImageMode mode_of(const Source& source) { return {source.image_mode(), source.image_settings()}; }

ImageMode image_mode(const Source& source, const PackOptions& options) {
  const TransformKind& kind = find_transform(options.image);
  if (kind.keeps) return mode_of(source);
  return {options.image, kind.settings(options.transform)};
}

void refuse_cutting(const PackOptions& options) {
  if (!find_transform(options.image).makes_pixels ||
      options.transform.fit != TransformOptions::Fit::kCrop)
    return;
  throw Error(ErrorKind::kUsage,
              "`image=raw` cuts the images, and with them their objects and masks", {},
              "give `fit=letterbox`, or another image mode");
}

void plan_job(PackJob& job, Progress& progress) {
  class_list_text(job.listing.classes);  // refuses names it cannot hold before any work is done
  refuse_fields(job);
  job.keep_keys = job.source->ordered() && !job.options.reorder;
  if (job.keep_keys) job.options.plan.shuffle = false;
  SelectOptions select_options = job.options.select;
  select_options.seed = job.options.plan.seed;
  select_options.in_order = !job.options.plan.shuffle;
  if (select_options.jobs == 0) select_options.jobs = job.options.jobs;
  job.selection = select(*job.source, job.listing, select_options, progress);
  job.splits.reserve(job.listing.splits.size());
  for (SplitListing& split : job.listing.splits) job.splits.emplace_back(split, job.options.plan);
  for (std::string& note : notes_on_shards(job)) job.listing.notes.push_back(std::move(note));
}

void account(PackReport& report, const PackJob& job) {
  const auto add_skips = [&](const std::vector<Skip>& skips, const std::string& prefix) {
    for (const Skip& skip : skips) {
      ++report.skipped_by_rule[std::string(skip.rule)];
      report.skips.push_back({prefix + skip.path, skip.rule});
    }
  };
  add_skips(job.listing.skips, "");
  report.classes = job.listing.classes;
  report.detected = job.listing.detected;
  for (const std::string& note : job.listing.notes) report.notes.push_back(spelled(note));
  report.notes.insert(report.notes.end(), job.selection.notes.begin(), job.selection.notes.end());
  report.duplicates = job.selection.duplicates;
  ObjectCounts objects;
  for (const SplitWork& split : job.splits) {
    const std::string& folder = split.listing.prefix();
    const std::string prefix = folder.empty() ? "" : printable(folder) + "/";
    add_skips(split.listing.skips, prefix);
    for (Reject& reject : split.rejects())
      report.rejects.push_back({prefix + reject.path, {reject.code, std::move(reject.reason)}});
    for (std::size_t shard = 0; shard < split.plan.shards(); ++shard) {
      const ShardOutcome& outcome = split.outcomes[shard];
      if (is_mine(job.options, shard)) ++report.shards;
      report.accounting.packed += outcome.record.samples;
      report.bytes_in += outcome.bytes_in;
      if (outcome.kept) ++report.shards_kept;
      for (const auto& [note, count] : outcome.notes) report.image_notes[note] += count;
      objects.add(outcome.objects);
    }
  }
  const bool have_objects =
      std::ranges::any_of(job.listing.targets,
                          [](const TargetRecord& target) { return target.kind == kObjectsTarget; });
  if (have_objects && !job.options.dry_run) report.objects = objects;
  if (objects.images_turned > 0)
    report.notes.push_back(fmt::format(
        "{} images with objects are turned by their EXIF orientation, and the annotations do not "
        "say for which picture they are: they are taken for the picture as it is stored",
        objects.images_turned));
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

PackReport run_job(PackJob& job, const fs::path& out, Staging& staging, Progress& progress) {
  const PackOptions& options = job.options;
  PackReport report;
  report.estimate = estimate_bytes(job.splits, job.listing, options);
  progress.total_samples += samples_to_pack(job);
  if (options.finish) {
    collect_shards(job, staging, progress);
  } else {
    if (options.check_space) check_space(needed_here(job, report.estimate), staging.root());
    const LivingNote note = note_of(job, staging);
    pack_shards(job, staging, progress);
  }
  account(report, job);
  if (options.task) {
    if (const std::size_t held = job.sink->held_back(); held > 0) {
      report.notes.push_back(
          fmt::format("{} shard{} not stored, as samples in them could not be "
                      "read: run this task again",
                      held, held == 1 ? " was" : "s were"));
    }
    // Another machine may have packed the same share, and one more may have finished the dataset:
    // what was stored here since has come too late for it to be removed there.
    job.sink->clear_if_finished(shards_of(job.splits));
    return report;
  }
  if (report.accounting.packed > 0 &&
      report.accounting.rejected <= options.max_rejects.allowed(report.accounting.seen)) {
    settle_rest(job, staging);
    publish_splits(job.splits, job.listing, options, out, image_mode(*job.source, options), staging,
                   *job.sink, report);
  } else if (report.accounting.packed == 0) {
    staging.discard();
  } else {
    write_rejects(report, staging);
  }
  return report;
}

}  // namespace packhorse
