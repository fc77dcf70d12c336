#include "dataset/dataset_directory.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "dataset/remote_files.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/manifest.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr int kDirectory = O_DIRECTORY | O_RDONLY;

[[noreturn]] void refuse_link(const fs::path& path) {
  throw Error(ErrorKind::kCorrupt, "symbolic links inside a dataset are not followed", path,
              "put the file itself there: `cp -rL` copies files instead of links");
}

bool is_link_in(int directory, const char* name) {
  struct stat status {};
  return ::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
}

}  // namespace

bool is_inner_name(std::string_view name) {
  return name.find('\0') == std::string_view::npos &&
         std::ranges::none_of(split_text(name, '/'), [](std::string_view part) {
           return part.empty() || part == "." || part == "..";
         });
}

void refuse_links(const fs::path& directory) {
  const auto refuse = [](const fs::path& path) {
    throw Error(ErrorKind::kUnsupported, "a symbolic link is in the way; it is not followed", path,
                "remove it if nothing needs it");
  };
  if (!fs::exists(fs::symlink_status(directory))) return;
  if (fs::is_symlink(directory)) refuse(directory);
  if (!fs::is_directory(directory)) return;
  for (const fs::directory_entry& entry : entries_below(directory)) {
    if (entry.is_symlink()) refuse(entry.path());
  }
}

DatasetDirectory::Links DatasetDirectory::links_of(const Manifest& manifest) {
  return manifest.adopted ? Links::kToShards : Links::kNone;
}

DatasetDirectory::DatasetDirectory(fs::path path)
    : path_(std::move(path)), remote_(open_remote(path_)) {
  if (remote_) return;
  directory_ = open_file(path_, kDirectory);
  if (!directory_) throw_errno("open", path_);
}

void DatasetDirectory::refuse_outer(const std::string& name) const {
  if (is_inner_name(name)) return;
  throw Error(ErrorKind::kCorrupt, "a file name leads outside the dataset's directory",
              path_ / name, "do not trust this dataset");
}

UniqueFd DatasetDirectory::open_beneath(const std::string& name, int flags) const {
  if (remote_)
    throw Error(ErrorKind::kUnsupported, "this cannot be done with a dataset that lies elsewhere",
                path_, "copy the dataset to a disk first");
  refuse_outer(name);
  // Opens part by part, so that each lookup is of one part alone: nobody can put a link in between.
  UniqueFd at;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const int above = at ? at.get() : directory_.get();
    const int how = end == name.size() ? flags : O_DIRECTORY | O_PATH;
    UniqueFd next = open_at(above, part.c_str(), how | O_NOFOLLOW);
    if (!next) {
      const int code = errno;
      if (is_link_in(above, part.c_str())) refuse_link(path_ / name);
      errno = code;
      throw_errno("open", path_ / name);
    }
    at = std::move(next);
    begin = end + 1;
  }
  return at;
}

UniqueFd DatasetDirectory::open(const std::string& name, Links links) const {
  constexpr int kFlags = O_RDONLY | O_NONBLOCK;  // a pipe must not keep us waiting
  UniqueFd fd;
  if (links == Links::kNone || !is_inner_name(name)) {
    fd = open_beneath(name, kFlags);
  } else {
    fd = open_at(directory_.get(), name.c_str(), kFlags);
    if (!fd) throw_errno("open", path_ / name);
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw_errno("inspect", path_ / name);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::kCorrupt, "a file of the dataset is not a regular file", path_ / name,
                "restore the file from a copy, or pack again");
  }
  return fd;
}

UniqueFd DatasetDirectory::open(const std::string& name, std::uint64_t bytes,
                                const std::string& sha256, Links links) const {
  if (!remote_) return open(name, links);
  refuse_outer(name);
  return remote_->open(name, bytes, sha256);
}

std::uint64_t DatasetDirectory::size(const std::string& name, Links links) const {
  if (!remote_) return file_size(open(name, links).get(), path_ / name);
  refuse_outer(name);
  return remote_->look(name).bytes;
}

UniqueFd DatasetDirectory::open_as_is(const std::string& name, std::uint64_t most,
                                      Links links) const {
  if (!remote_) return open(name, links);
  refuse_outer(name);
  const std::string content = remote_->read_text(name, most);
  return unnamed_file(as_bytes(content), path_ / name);
}

std::string DatasetDirectory::read_text(const std::string& name) const {
  constexpr std::uint64_t kMost = std::uint64_t{256} << 20;  // some two million rejects
  if (remote_) {
    refuse_outer(name);
    return remote_->read_text(name, kMost);
  }
  const UniqueFd fd = open(name);
  const std::uint64_t bytes = file_size(fd.get(), path_ / name);
  if (bytes > kMost) {
    throw Error(ErrorKind::kUnsupported,
                "a list in the dataset has " + std::to_string(bytes) + " bytes, the limit is " +
                    std::to_string(kMost),
                path_ / name, "do not trust this dataset");
  }
  std::string text(bytes, '\0');
  read_exactly(fd.get(), 0, std::as_writable_bytes(std::span(text)), path_ / name);
  return text;
}

bool DatasetDirectory::holds(const std::string& name, std::uint64_t bytes,
                             const std::string& sha256, Links links) const try {
  const UniqueFd fd = open(name, bytes, sha256, links);
  return file_size(fd.get(), path_ / name) == bytes &&
         sha256_file(fd.get(), path_ / name) == sha256;
} catch (const Error& error) {
  if (error.kind() == ErrorKind::kInterrupted) throw;
  return false;
}

/// Opens the directory that holds the last part of `name`; creates directories that are missing.
UniqueFd DatasetDirectory::open_parent(const std::string& name) const {
  UniqueFd parent = open_at(directory_.get(), ".", kDirectory);
  if (!parent) throw_errno("open", path_);
  for (std::size_t begin = 0, slash = name.find('/'); slash != std::string::npos;
       begin = slash + 1, slash = name.find('/', begin)) {
    const std::string part = name.substr(begin, slash - begin);
    if (::mkdirat(parent.get(), part.c_str(), 0777) != 0 && errno != EEXIST)
      throw_errno("create", path_ / name);
    parent = open_beneath(name.substr(0, slash), kDirectory);
  }
  return parent;
}

void DatasetDirectory::replace(const fs::path& finished, const std::string& name) const {
  if (!is_inner_name(name)) open_beneath(name, O_PATH);  // throws
  sync_path(finished);
  const UniqueFd parent = open_parent(name);
  const std::string last = name.substr(name.rfind('/') + 1);
  if (::renameat(AT_FDCWD, finished.c_str(), parent.get(), last.c_str()) != 0)
    throw_errno("rename a file to", path_ / name);
  sync_file(parent.get(), path_ / name);
}

bool DatasetDirectory::still_there() const {
  if (remote_) return true;
  struct stat held {
  }, named{};
  return ::fstat(directory_.get(), &held) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

namespace {

std::atomic<RemoteOpener> remote_opener{nullptr};

}  // namespace

void set_remote_opener(RemoteOpener opener) { remote_opener = opener; }

std::shared_ptr<RemoteFiles> open_remote(const std::filesystem::path& path) {
  if (!is_url(path.native())) return nullptr;
  const RemoteOpener opener = remote_opener;
  if (opener == nullptr) refuse_url(path.native());  // throws
  return opener(path.native());
}

}  // namespace packhorse
