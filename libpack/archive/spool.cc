#include "archive/spool.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/scratch_file.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kSpoolBuffer = 1u << 20;

}  // namespace

Spool::Spool(fs::path directory) : directory_(std::move(directory)) {}

std::uint64_t Spool::append(Bytes bytes) {
  if (!fd_) fd_ = open_unnamed_file(directory_);
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
