#include "packhorse/trainer/checkpoint_store.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "packhorse/error.h"
#include "packhorse/file.h"

namespace packhorse::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";

fs::path step_name(std::int64_t step) { return fmt::format("{}{:09}.pt", kPrefix, step); }

/// step-N.pt, oldest first.
std::vector<fs::path> kept_in(const fs::path& directory) {
  std::vector<fs::path> kept;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(kPrefix) && entry.path().extension() == ".pt")
      kept.push_back(entry.path());
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

/// A second name for the file, which appears at once; a copy where the file system has no links.
void give_name(const fs::path& file, const fs::path& name) {
  const fs::path aside = name.native() + ".new";
  std::error_code error;
  fs::remove(aside, error);
  fs::create_hard_link(file, aside, error);
  if (error) fs::copy_file(file, aside, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(aside, name, error);
  if (error) throw Error(ErrorKind::kIo, "cannot write: " + error.message(), name);
}

/// What went wrong, or nothing. The program blocks signals in all threads, and its stdout is for
/// results: the command gets neither.
std::string run_command(const std::string& command, const fs::path& file) {
  std::string shell = "/bin/sh", option = "-c", text = command, name = "sh", path = file.native();
  char* arguments[] = {shell.data(), option.data(), text.data(), name.data(), path.data(), nullptr};
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, shell.c_str(), &actions, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return std::strerror(error);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return std::strerror(errno);
  }
  if (WIFSIGNALED(status)) return fmt::format("it was ended by signal {}", WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : fmt::format("exit status {}", WEXITSTATUS(status));
}

}  // namespace

struct CheckpointStore::Impl {
  CheckpointStoreOptions options;
  std::jthread writer = {};
  std::exception_ptr failure = {};  ///< of the writer, read when it has ended
  std::mutex mutex = {};            ///< of notes
  std::vector<std::string> notes = {};

  fs::path last() const { return options.directory / "last.pt"; }
  fs::path best() const { return options.directory / "best.pt"; }

  void write(const Checkpoint& checkpoint, std::int64_t step, bool is_best) {
    write_checkpoint(last(), checkpoint);
    if (is_best) give_name(last(), best());
    fs::path saved = last();
    if (options.keep > 0) {
      saved = options.directory / step_name(step);
      give_name(last(), saved);
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

void CheckpointStore::clear() {
  finish();
  for (const auto& path : kept_in(impl_->options.directory)) fs::remove(path);
  for (const auto& path : {best(), last()}) fs::remove(path);
}

}  // namespace packhorse::trainer
