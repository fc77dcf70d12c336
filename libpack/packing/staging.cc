#include "packing/staging.h"

#include <unistd.h>

#include <optional>
#include <set>
#include <utility>

#include "base/mounts.h"
#include "base/stop.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/packing/pack.h"
#include "packing/task_note.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// The first line of a job's name.
std::string command_of(const std::string& job) { return job.substr(0, job.find('\n')); }

/// Writes the job's name; of tasks that start at the same time, one writes it for all.
void name_job(const fs::path& file, const std::string& job) {
  const fs::path made = temporary_name(file);
  try {
    write_file(made, as_bytes(job));
    rename_no_replace(made, file);
  } catch (const Error& error) {
    remove_tree(made);
    if (error.kind() != ErrorKind::kExists) throw;
  }
}

}  // namespace

fs::path staging_path(const fs::path& out) {
  fs::path name = out;
  while (!name.has_filename() && name.has_parent_path() && name != name.parent_path())
    name = name.parent_path();
  if (is_url(name.native())) name = name.filename();
  return fs::path(name.native() + ".partial");
}

Staging::Staging(const fs::path& out, Hold hold, const std::string& job, const fs::path& root)
    : out_(out), root_(root.empty() ? staging_path(out) : root), lock_(root_, hold) {
  try {
    begin(hold, job);
  } catch (...) {
    if (lock_.fresh() && hold == Hold::kAlone) abandon();
    throw;
  }
}

/// Where locks hold on one machine alone, the notes of those at work must do.
void Staging::refuse_others(Hold hold) const {
  const std::optional<std::string> local = local_locks(root_);
  if (!local) return;
  const auto other = at_work_elsewhere(root_, hold == Hold::kShared);
  if (!other) return;
  throw Error(ErrorKind::kExists,
              "another machine's process is writing to this target: process " +
                  std::to_string(other->pid) + " on " + other->host +
                  ", which has given a sign of life within the last minute",
              root_,
              "wait for it; if it has died, try again in a minute (the storage is " + *local +
                  ", whose locks other machines do not see)");
}

void Staging::begin(Hold hold, const std::string& job) const {
  refuse_others(hold);
  const fs::path file = root_ / "job";
  if (!fs::exists(file)) name_job(file, job);
  const std::string before = read_text(file);
  if (command_of(before) != command_of(job)) {
    throw Error(ErrorKind::kExists,
                "this directory holds unfinished work of `" + command_of(before) + "`", root_,
                "run that command again to complete it, or remove this directory");
  }
  if (hold == Hold::kShared && before != job) {
    throw Error(ErrorKind::kExists,
                "tasks with other options, or of another version, have worked here", root_,
                "run every task with the same command apart from `task=`; to start over, remove "
                "this directory while no task is running");
  }
  if (before != job) write_file(file, as_bytes(job));
  if (hold == Hold::kAlone) clear_unfinished();
}

/// Removes what dead runs left behind: temporary files, and the manifests of a run that died
/// between sealing and publishing, because the data may change now.
void Staging::clear_unfinished() const {
  std::vector<fs::path> unfinished;
  for (const fs::path& part : {root_ / "data", root_ / "receipts"}) {
    if (!fs::exists(part)) continue;
    for (const fs::directory_entry& entry : entries_below(part)) {
      const fs::path& path = entry.path();
      const bool left = path.filename() == kManifestName || path.extension() == ".tmp";
      if (left && !entry.is_directory()) unfinished.push_back(path);
    }
  }
  for (const fs::directory_entry& entry : entries_in(root_)) {
    if (entry.path().extension() == ".tmp") unfinished.push_back(entry.path());
  }
  for (const fs::path& path : unfinished) remove_tree(path);
}

fs::path Staging::data(const std::string& split) const { return root_ / "data" / split; }
fs::path Staging::receipts(const std::string& split) const { return root_ / "receipts" / split; }

void Staging::remove_others(const fs::path& directory, const std::vector<fs::path>& keep) {
  if (!fs::exists(directory)) return;
  const std::set<fs::path> kept(keep.begin(), keep.end());
  std::vector<fs::path> all;
  for (const fs::directory_entry& entry : entries_below(directory)) {
    all.push_back(entry.path());
  }
  // Goes backwards, since a directory comes before everything in it.
  for (auto path = all.rbegin(); path != all.rend(); ++path) {
    if (kept.contains(*path)) continue;
    std::error_code code;
    fs::remove(*path, code);
    const bool in_use = code == std::errc::directory_not_empty || code == std::errc::file_exists;
    if (code && !in_use) throw_code(code, "remove", *path);
  }
}

void Staging::publish(bool overwrite) {
  const fs::path data = root_ / "data";
  for (const fs::directory_entry& entry : entries_below(data)) {
    if (entry.is_directory()) sync_path(entry.path());
  }
  sync_path(data);
  if (overwrite && fs::exists(fs::symlink_status(out_))) {
    rename_exchange(data, out_);
  } else {
    rename_no_replace(data, out_);
  }
  remove_behind(out_);
}

void Staging::remove_behind(const fs::path& published) {
  published_ = true;
  try {
    const StopGrace grace;
    lock_.remove_root();
  } catch (const Error& error) {
    throw Error(ErrorKind::kIo,
                published.string() + " is complete and in place, but its staging directory " +
                    "cannot be removed: " + error.what(),
                root_, "remove this directory by hand");
  }
}

void Staging::discard() {
  if (!published_) lock_.remove_root();
}

void Staging::abandon() noexcept {
  try {
    const StopGrace grace;
    discard();
  } catch (...) {  // stays behind; the next writer takes it over
  }
}

void Staging::clear_leftover(const fs::path& out, Finished finished) {
  const fs::path root = staging_path(out);
  std::optional<StagingLock> lock = StagingLock::take_over(root);
  const bool kept = finished == Finished::kKept && fs::exists(root / "data");
  if (lock && !kept) lock->remove_root();
  if (!lock) ::rmdir(root.c_str());  // a run died before its rmdir; only removed if empty
}

namespace {

bool lies_inside(const fs::path& path, const fs::path& of) {
  // A relative path that does not exist would stay relative.
  const auto whole = [](const fs::path& one) { return fs::weakly_canonical(fs::absolute(one)); };
  const fs::path rest = whole(path).lexically_relative(whole(of));
  return !rest.empty() && *rest.begin() != "..";
}

}  // namespace

void check_target(const fs::path& source, const fs::path& out, bool overwrite) {
  if (out.empty())
    throw Error(ErrorKind::kUsage, "the target's path is empty", {},
                "give the directory of the dataset");
  if (!source.empty() && lies_inside(out, source)) {
    throw Error(ErrorKind::kUsage, "the target is inside the source", out,
                "choose a target outside it");
  }
  if (!fs::exists(fs::symlink_status(out))) return;
  if (!overwrite) {
    Staging::clear_leftover(out);
    throw Error(ErrorKind::kExists, "the target already exists", out,
                "choose another target, or give `overwrite=true` to replace it");
  }
  if (!source.empty() && lies_inside(source, out)) {
    throw Error(ErrorKind::kUsage, "the source is inside the target and would be lost with it",
                source, "choose a target outside it");
  }
  try {
    static_cast<void>(find_datasets(out));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNotFound) throw;
    throw Error(ErrorKind::kExists,
                "the target exists and is not a packed dataset, so it is not replaced", out,
                "choose another target, or remove it by hand");
  }
}

}  // namespace packhorse
