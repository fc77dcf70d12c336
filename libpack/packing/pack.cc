#include "packhorse/packing/pack.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "annotations/extra_targets.h"
#include "annotations/sample_targets.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mounts.h"
#include "base/option.h"
#include "base/stop.h"
#include "packhorse/base/error.h"
#include "packhorse/version.h"
#include "packing/option_table.h"
#include "packing/pack_job.h"
#include "transforms/transform.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// Refuses decoded pixels at once, rather than reject image after image for the same reason.
void refuse_pixels(const Source& source, const PackOptions& options) {
  const auto kinds = all_transforms();
  const auto held = std::ranges::find(kinds, source.image_mode(), &TransformKind::name);
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
  bool placed = false;  // something lies at a place in the image
  for (const TargetRecord& target : listing.targets) {
    placed = placed || target.kind == kObjectsTarget || target.kind == kMaskTarget;
    if (target.kind != kObjectsTarget || target.text.empty()) continue;
    if (changes && (mode.makes_pixels || mode.uses_setting("short_side")))
      listing.notes.push_back(
          "images that are made smaller, larger or turned are packed without the "
          "field '" +
          target.text + "', whose numbers would not fit them");
  }
  if (placed && changes) refuse_cutting(options);
}

fs::path staging_of(const fs::path& out, const PackOptions& options) {
  return options.staging.empty() ? staging_path(out) : options.staging;
}

std::unique_ptr<ShardSink> sink_for(const fs::path& source, const fs::path& out,
                                    const PackOptions& options) {
  if (is_url(out.native())) return bucket_sink(out, staging_of(out, options), options);
  return folder_sink(source, out, options.overwrite);
}

/// Says that the list did not fit into the memory.
void note_file(std::uint64_t written, std::uint64_t memory, Listing& listing) {
  if (written == 0) return;
  constexpr double kMiB = 1 << 20;
  listing.notes.push_back(fmt::format(
      "the list of samples takes more than the {:.0f} MiB of {}: {:.0f} MiB were "
      "written to a temporary file, which takes time",
      static_cast<double>(memory) / kMiB, opt("memory"), static_cast<double>(written) / kMiB));
}

/// Lists the source, selects samples and plans the shards.
PackJob prepare(const fs::path& source_path, const fs::path& out, const PackOptions& options,
                Progress& progress) {
  PackJob job;
  job.options = options;
  job.source = open_source(source_path, options.source_kind, options.list);
  refuse_pixels(*job.source, options);
  if (!options.dry_run) {
    job.sink = sink_for(source_path, out, options);
    job.sink->refuse_existing();
  }
  ListOptions list = options.list;
  list.exclude = options.select.exclude;
  if (list.scratch.empty() && !options.dry_run)
    list.scratch = fs::absolute(staging_of(out, options)).parent_path();
  if (!list.memory) list.memory = std::make_shared<EntryMemory>(options.memory, list.scratch);
  job.listing = list_source(*job.source, list);
  check_targets(*job.source, options, job.listing);
  if (!list.allow_odd_classes && !job.listing.doubts.empty())
    refuse(job.listing.doubts.front(), source_path);
  plan_job(job, progress);
  if (options.task && !options.dry_run) job.sink->refuse_finished(shards_of(job.splits));
  note_file(list.memory->written(), options.memory, job.listing);
  return job;
}

/// Names what all tasks of one job must have in common.
std::string name_of_job(const PackJob& job) {
  std::string text = fmt::format("{}\n{}{}\n{}\n", version(), name_of_all(job.options),
                                 job.keep_keys, fmt::join(job.listing.stored_fields(), " "));
  for (const std::string& name : job.listing.classes) text += name + "\n";
  if (job.listing.made_targets) text += job.listing.made_targets->fingerprint();
  if (job.listing.made_extras) text += job.listing.made_extras->fingerprint();
  return "pack\n" + sha256(as_bytes(text)) + "\n";
}

}  // namespace

PackReport pack(const fs::path& source, const fs::path& out, const PackOptions& options,
                Progress* progress, std::stop_token stop) {
  const StopScope scope(stop);
  options.validate();
  if (!options.staging.empty() && !is_url(out.native()))
    throw Error(ErrorKind::kUsage, "a staging directory is chosen for datasets at URLs only", out,
                "leave it out: it lies beside the dataset");
  const auto begin = std::chrono::steady_clock::now();
  Progress unseen;
  if (progress == nullptr) progress = &unseen;
  std::optional<Staging> held;  // goes after the job, whose sink works in it
  PackJob job = prepare(source, out, options, *progress);
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
    if (job.listing.made_targets)
      report.preview->targets =
          preview_targets(*job.source, job.listing, job.splits, options.jobs, options.limits);
    return finished();
  }
  const std::string name = name_of_job(job);
  const auto hold = [&]() -> Staging& {
    return held.emplace(out, options.task ? Staging::Hold::kShared : Staging::Hold::kAlone, name,
                        options.staging);
  };
  hold();
  while (job.sink->is_taken()) {
    held.reset();  // another has published it since prepare(), and nothing is left to do here
    job.sink->refuse_existing();
    hold();  // it has gone again
  }
  Staging& staging = *held;
  if (options.task || options.finish) job.sink->join(name);
  report = run_job(job, out, staging, *progress);
  if (const auto local = local_locks(staging.root()); local && (options.task || options.finish)) {
    report.notes.push_back("other machines do not see the locks of this storage (" + *local +
                           "): run " + opt("finish") + " only once all tasks have ended");
  }
  return finished();
}

}  // namespace packhorse
