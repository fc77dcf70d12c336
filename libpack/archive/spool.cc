#include "archive/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kSpoolBuffer = 1u << 20;

/// Opens a file by O_TMPFILE or, on file systems without it (NFS, some overlays), by a name that is
/// removed at once.
UniqueFd open_unnamed(const fs::path& directory) {
  UniqueFd fd = open_file(directory, O_TMPFILE | O_RDWR, 0600);
  if (fd || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  std::string name = (directory / "packhorse-XXXXXX").native();
  UniqueFd named(uninterrupted([&] { return ::mkostemp(name.data(), O_CLOEXEC); }));
  if (named) ::unlink(name.c_str());
  return named;
}

}  // namespace

Spool::Spool(fs::path directory) : directory_(std::move(directory)) {}

void Spool::open() {
  if (directory_.empty()) directory_ = fs::temp_directory_path();
  while (!fs::exists(directory_) && directory_.has_relative_path())
    directory_ = directory_.parent_path();
  fd_ = open_unnamed(directory_);
  if (!fd_) throw_errno("make a temporary file in", directory_);
}

std::uint64_t Spool::append(Bytes bytes) {
  if (!fd_) open();
  const std::uint64_t at = size();
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), kSpoolBuffer - buffer_.size());
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    bytes = bytes.subspan(n);
    if (buffer_.size() == kSpoolBuffer) flush();
  }
  return at;
}

void Spool::flush() {
  std::size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t n = uninterrupted([&] {
      return ::pwrite(fd_.get(), buffer_.data() + done, buffer_.size() - done,
                      static_cast<off_t>(written_ + done));
    });
    if (n < 0 && (errno == ENOSPC || errno == EDQUOT)) {
      throw Error(
          ErrorKind::kNoSpace,
          fmt::format("no space left for the temporary file of decompressed data, after {:.1f} MiB",
                      static_cast<double>(written_ + done) / (1 << 20)),
          directory_,
          "it must hold all images of the archive: free some space there, choose another disk, or "
          "give an uncompressed tar, which needs no temporary file");
    }
    if (n < 0) throw_errno("write to a temporary file in", directory_);
    done += static_cast<std::size_t>(n);
  }
  written_ += done;
  buffer_.clear();
}

void Spool::cut(std::uint64_t offset) {
  if (offset >= written_) {
    buffer_.resize(offset - written_);
    return;
  }
  buffer_.clear();
  written_ = offset;
  if (uninterrupted([&] { return ::ftruncate(fd_.get(), static_cast<off_t>(offset)); }) != 0)
    throw_errno("shorten a temporary file in", directory_);
}

void Spool::seal() {
  flush();
  buffer_.shrink_to_fit();
}

void Spool::read(std::uint64_t offset, std::span<std::byte> out) const {
  read_exactly(fd_.get(), offset, out, directory_ / "(temporary file)");
}

}  // namespace packhorse
