#include "packing/staging.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <set>
#include <thread>

#include "packhorse/error.h"
#include "packhorse/pack.h"
#include "packhorse/packed_dataset.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

std::string this_process() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return "process " + std::to_string(::getpid()) + " on " + host.data();
}

/// Whether the lock file that was opened is still the one under its name, and not one that a
/// finishing writer has just removed.
bool still_there(int fd, const fs::path& path) {
  struct stat opened {
  }, named{};
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/// Something, and no lock. A writer's lock is there before all else and goes after it, so it is
/// looked for after the rest; and several times, as writers may come and go between the two.
bool is_somebody_elses(const fs::path& root) {
  constexpr int kLooks = 10;
  for (int look = 0; look < kLooks; ++look) {
    std::error_code code;
    const bool empty = fs::is_empty(root, code);
    if (code || empty || fs::exists(root / "lock", code)) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

UniqueFd lock_file(const fs::path& root, bool shared) {
  const fs::path path = root / "lock";
  if (is_somebody_elses(root)) {
    throw Error(ErrorKind::kExists, "the name of the staging directory is taken by something else",
                root, "move it away, or choose another target");
  }
  while (true) {
    make_directories(root);
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!fd && errno == ENOENT) continue;
    if (!fd) throw_errno("create", path);
    if (::flock(fd.get(), (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) throw_errno("lock", path);
      std::array<char, 512> owner{};
      [[maybe_unused]] const ssize_t n = ::pread(fd.get(), owner.data(), owner.size() - 1, 0);
      throw Error(ErrorKind::kExists,
                  std::string("another writer is at work on this target: ") + owner.data(), root,
                  "wait for it, or stop it, or choose another target");
    }
    if (!still_there(fd.get(), path)) continue;
    const std::string owner = this_process();
    if (::ftruncate(fd.get(), 0) != 0 ||
        ::pwrite(fd.get(), owner.data(), owner.size(), 0) != static_cast<ssize_t>(owner.size())) {
      throw_errno("write to", path);
    }
    return fd;
  }
}

/// The lock goes last: a directory without one is taken for somebody else's. A writer that puts one
/// of its own there, before the directory goes, keeps it.
void remove_staging(const fs::path& root) {
  std::vector<fs::path> others;
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    if (entry.path().filename() != "lock") others.push_back(entry.path());
  }
  for (const fs::path& path : others) fs::remove_all(path);
  fs::remove(root / "lock");
  if (::rmdir(root.c_str()) != 0 && errno != ENOTEMPTY && errno != ENOENT)
    throw_errno("remove", root);
}

}  // namespace

fs::path staging_path(const fs::path& out) {
  fs::path name = out;
  while (!name.has_filename() && name.has_parent_path() && name != name.parent_path())
    name = name.parent_path();
  return fs::path(name.native() + ".partial");
}

Staging::Staging(const fs::path& out, Hold hold, const std::string& job)
    : out_(out), root_(staging_path(out)), lock_(lock_file(root_, hold == Hold::kShared)) {
  const fs::path file = root_ / "job";
  std::error_code code;
  if (hold == Hold::kShared && fs::exists(file, code) && read_text(file) != job) {
    throw Error(ErrorKind::kExists, "tasks with other options, or of another version, worked here",
                root_,
                "give every task the same command but for --task; to start over, remove this "
                "directory when no task runs");
  }
  write_file(file, as_bytes(job));
  if (hold == Hold::kAlone) clear_unfinished();
}

/// What runs that died left: temporary files, and the manifests of one that died between sealing
/// and publishing; what is in here may change now.
void Staging::clear_unfinished() const {
  std::vector<fs::path> unfinished;
  if (!fs::exists(root_ / "data")) return;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root_)) {
    const fs::path& path = entry.path();
    if (path.filename() == kManifestName || path.extension() == ".tmp") unfinished.push_back(path);
  }
  for (const fs::path& path : unfinished) fs::remove(path);
}

fs::path Staging::data(const std::string& split) const { return root_ / "data" / split; }
fs::path Staging::receipts(const std::string& split) const { return root_ / "receipts" / split; }

void Staging::remove_others(const fs::path& directory, const std::vector<fs::path>& keep) {
  if (!fs::exists(directory)) return;
  const std::set<fs::path> kept(keep.begin(), keep.end());
  std::vector<fs::path> all;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory)) {
    all.push_back(entry.path());
  }
  // From the back: a directory comes after all it holds.
  for (auto path = all.rbegin(); path != all.rend(); ++path) {
    const bool directory_in_use =
        fs::is_directory(fs::symlink_status(*path)) && !fs::is_empty(*path);
    if (!directory_in_use && !kept.contains(*path)) fs::remove(*path);
  }
}

void Staging::publish(bool overwrite) {
  const fs::path data = root_ / "data";
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(data)) {
    if (entry.is_directory()) sync_path(entry.path());
  }
  sync_path(data);
  if (overwrite && fs::exists(fs::symlink_status(out_))) {
    rename_exchange(data, out_);
  } else {
    rename_no_replace(data, out_);
  }
  remove_staging(root_);
}

void Staging::discard() { remove_staging(root_); }

namespace {

/// What a run that died right after its rename left: a staging directory without data, and nobody
/// at work.
void clear_leftover(const fs::path& root) {
  std::error_code code;
  if (!fs::exists(root / "lock", code) || fs::exists(root / "data", code)) return;
  const UniqueFd fd(::open((root / "lock").c_str(), O_RDWR | O_CLOEXEC));
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) remove_staging(root);
}

}  // namespace

void check_target(const fs::path& source, const fs::path& out, bool overwrite) {
  const fs::path inside =
      fs::weakly_canonical(out).lexically_relative(fs::weakly_canonical(source));
  if (!inside.empty() && *inside.begin() != "..") {
    throw Error(ErrorKind::kUsage, "the target lies inside the source", out,
                "choose a target outside of it");
  }
  if (!fs::exists(fs::symlink_status(out))) return;
  clear_leftover(staging_path(out));
  if (!overwrite) {
    throw Error(ErrorKind::kExists, "the target is already there", out,
                "choose another target, or say --overwrite to replace it");
  }
  try {
    static_cast<void>(find_datasets(out));
  } catch (const Error&) {
    throw Error(ErrorKind::kExists,
                "the target is there and is no packed dataset, so it is not replaced", out,
                "choose another target, or remove it by hand");
  }
}

}  // namespace packhorse
