#include "checkpoint/checkpoint_store.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "base/paths.h"
#include "base/process.h"
#include "packhorse/base/error.h"

namespace packhorse::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";

fs::path step_name(std::int64_t step) { return fmt::format("{}{:09}.pt", kPrefix, step); }

/// The paths of step-N.pt, oldest first.
std::vector<fs::path> kept_in(const fs::path& directory) {
  std::vector<fs::path> kept;
  if (!path_exists(directory)) return kept;
  for (const fs::directory_entry& entry : entries_in(directory)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(kPrefix) && entry.path().extension() == ".pt")
      kept.push_back(entry.path());
  }
  std::ranges::sort(kept);
  return kept;
}

/// Removes files left by runs that were killed while they wrote `made`. Each is as large as a
/// checkpoint.
void remove_unfinished(const fs::path& made) {
  const std::string start = made.filename().native() + ".";
  for (const fs::directory_entry& entry : entries_in(made.parent_path())) {
    const fs::path& path = entry.path();
    if (path.filename().native().starts_with(start) && path.extension() == ".tmp") fs::remove(path);
  }
}

/// Gives a file that is on the disk a second name, at once. Copies it where the file system has no
/// links.
void give_name(const fs::path& file, const fs::path& name) {
  const fs::path aside = name.native() + ".new";
  std::error_code error;
  fs::remove(aside, error);
  fs::create_hard_link(file, aside, error);
  if (error) {
    copy_over(file, aside);
    sync_path(aside);
  }
  fs::rename(aside, name, error);
  if (error) throw_code(error, "write", name);
}

/// Returns what went wrong, or nothing. Our stdout is for results, so the command writes to stderr.
std::string run_command(const std::string& command, const fs::path& file) try {
  const int status = wait_for_process(start_process({"/bin/sh", "-c", command, "sh", file.native()},
                                                    {.out = STDERR_FILENO}, ProcessGroup::kOurs));
  if (WIFSIGNALED(status)) return fmt::format("terminated by signal {}", WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : fmt::format("exit status {}", WEXITSTATUS(status));
} catch (const Error& error) {
  return error.what();
}

}  // namespace

struct CheckpointStore::Impl {
  CheckpointStoreOptions options;
  std::jthread writer = {};
  std::exception_ptr failure = {};  ///< the writer's, read when it has ended
  std::mutex mutex = {};            ///< guards `notes`
  std::vector<std::string> notes = {};
  bool replaces_earlier = false;
  bool first = true;  ///< nothing was written yet

  fs::path last() const { return options.directory / "last.pt"; }
  fs::path best() const { return options.directory / "best.pt"; }
  /// Exists from the beginning of a run that replaces another until its first checkpoint.
  fs::path replacing() const { return options.directory / "replacing"; }

  /// The new checkpoint is on the disk before any old one is removed. All other names are on the
  /// disk before last.pt names the new one: a run is resumed from last.pt.
  void write(const Checkpoint& checkpoint, std::int64_t step, bool is_best) {
    const fs::path made = last().native() + ".new";
    if (std::exchange(first, false)) remove_unfinished(made);
    write_checkpoint(made, checkpoint);
    const bool replaces = std::exchange(replaces_earlier, false);
    if (replaces) remove_earlier(is_best);
    if (is_best) give_name(made, best());
    fs::path saved = last();
    if (options.keep > 0) {
      saved = options.directory / step_name(step);
      give_name(made, saved);
    }
    sync_path(options.directory);
    publish_file(made, last());
    if (replaces) fs::remove(replacing());
    if (options.keep > 0) {
      auto kept = kept_in(options.directory);
      const auto surplus = std::max<std::ptrdiff_t>(0, std::ssize(kept) - options.keep);
      for (std::ptrdiff_t i = 0; i < surplus; ++i) fs::remove(kept[static_cast<std::size_t>(i)]);
    }
    if (options.after_save.empty()) return;
    const std::string failed = run_command(options.after_save, saved);
    if (failed.empty()) return;
    const std::lock_guard lock(mutex);
    notes.push_back(fmt::format("the command after saving {} failed: {}", saved.string(), failed));
  }

  /// Removes everything of another run that stands beside the new last.pt.
  void remove_earlier(bool is_best) const {
    for (const fs::path& path : kept_in(options.directory)) fs::remove(path);
    if (!is_best) fs::remove(best());
  }

  void wait() {
    if (writer.joinable()) writer.join();
  }
};

CheckpointStore::CheckpointStore(CheckpointStoreOptions options)
    : impl_(new Impl{.options = std::move(options)}) {}

CheckpointStore::~CheckpointStore() { impl_->wait(); }

fs::path CheckpointStore::last() const { return impl_->last(); }
fs::path CheckpointStore::best() const { return impl_->best(); }

void CheckpointStore::save(Checkpoint checkpoint, std::int64_t step, bool is_best) {
  finish();
  impl_->writer =
      std::jthread([impl = impl_.get(), checkpoint = std::move(checkpoint), step, is_best] {
        try {
          impl->write(checkpoint, step, is_best);
        } catch (...) {
          impl->failure = std::current_exception();
        }
      });
}

void CheckpointStore::finish() {
  impl_->wait();
  if (impl_->failure) std::rethrow_exception(std::exchange(impl_->failure, nullptr));
}

std::vector<std::string> CheckpointStore::take_notes() {
  const std::lock_guard lock(impl_->mutex);
  return std::exchange(impl_->notes, {});
}

void CheckpointStore::replace_earlier() {
  make_directories(impl_->options.directory);
  if (fs::exists(last())) {
    constexpr std::string_view kWhat =
        "a run that replaces this one began, and saved nothing yet\n";
    write_file(impl_->replacing(), as_bytes(kWhat));
    sync_path(impl_->options.directory);
  }
  impl_->replaces_earlier = true;
}

void CheckpointStore::refuse_replaced() const {
  if (!fs::exists(impl_->replacing())) return;
  throw Error(ErrorKind::kExists,
              "last.pt is from an earlier run; the run that was replacing it ended before its "
              "first checkpoint, and the logs are from that one",
              impl_->replacing(),
              "start again with `overwrite=`, or remove this file to continue the earlier run");
}

}  // namespace packhorse::trainer
