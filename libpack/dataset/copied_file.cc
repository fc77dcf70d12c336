#include "dataset/copied_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/stop.h"
#include "base/stream_file.h"
#include "dataset/dataset_directory.h"
#include "dataset/remote_files.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kPiece = 1u << 20;

/// A new file, written through a mapping. What is written has its blocks already, so that a full
/// disk is an error here and not a signal; what a storage only claims takes none.
class MappedOutput {
 public:
  MappedOutput(const fs::path& path, std::uint64_t bytes)
      : path_(path), bytes_(bytes), fd_(open_file(path, O_RDWR | O_CREAT | O_TRUNC)) {
    if (!fd_) throw_errno("create", path);
    if (bytes > kMost ||
        uninterrupted([&] { return ::ftruncate(fd_.get(), static_cast<off_t>(bytes)); }) != 0)
      throw_code(std::make_error_code(std::errc::file_too_large), "make room for", path);
    at_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (at_ == MAP_FAILED) throw_errno("map", path);
  }
  ~MappedOutput() { ::munmap(at_, bytes_); }
  MappedOutput(const MappedOutput&) = delete;
  MappedOutput& operator=(const MappedOutput&) = delete;
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(at_), bytes_}; }
  void make_room(ByteRange range) const {
    const int code = ::posix_fallocate(fd_.get(), static_cast<off_t>(range.offset),
                                       static_cast<off_t>(range.length));
    errno = code;
    if (code != 0) throw_errno("make room for", path_);
  }

 private:
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 62;  // off_t is signed

  const fs::path path_;
  const std::uint64_t bytes_;
  const UniqueFd fd_;
  void* at_ = nullptr;
};

/// Copies a file of a dataset on a disk; returns its SHA-256.
std::string copy_here(const DatasetDirectory& dataset, const FileRecord& file,
                      DatasetDirectory::Links links, const fs::path& to) {
  const fs::path path = dataset.path() / file.file;
  const UniqueFd fd = dataset.open(file.file, links);
  if (file_size(fd.get(), path) != file.bytes) return {};
  StreamFile out(to);
  std::vector<std::byte> piece(std::min(kPiece, file.bytes));
  for (std::uint64_t at = 0; at < file.bytes; at += piece.size()) {
    obey_stop();
    piece.resize(std::min(kPiece, file.bytes - at));
    read_exactly(fd.get(), at, piece, path);
    out.write(piece);
  }
  return out.commit();
}

/// Nothing when what is there has another size, or changed meanwhile.
std::string copy_if_as_large(const DatasetDirectory& dataset, const FileRecord& file,
                             const fs::path& to) try {
  // Copying any other file asks for its size as well.
  if (file.bytes == 0 && dataset.size(file.file) != 0) return {};
  return copy_from_afar(dataset, file.file, file.bytes, to);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kCorrupt) throw;
  return {};
}

}  // namespace

std::string copy_from_afar(const DatasetDirectory& dataset, const std::string& name,
                           std::uint64_t bytes, const fs::path& to) {
  Sha256 hash;
  if (bytes == 0) {
    write_plain_file(to, {});
  } else {
    const MappedOutput output(to, bytes);
    dataset.remote()->copy(
        name, output.bytes(), [&](ByteRange range) { output.make_room(range); },
        [&](Bytes piece) { hash.update(piece); });
  }
  return hash.finish();
}

void copy_checked(const DatasetDirectory& dataset, const FileRecord& file,
                  DatasetDirectory::Links links, const fs::path& to, Progress& progress) {
  for (int attempt = 0; attempt < (dataset.remote() ? 2 : 1); ++attempt) {
    const std::string sum = dataset.remote() ? copy_if_as_large(dataset, file, to)
                                             : copy_here(dataset, file, links, to);
    if (sum == file.sha256) {
      progress.bytes += file.bytes;
      return;
    }
  }
  refuse_copied(dataset, file.file);
}

void refuse_copied(const DatasetDirectory& dataset, const std::string& file) {
  throw Error(ErrorKind::kCorrupt, "the file is not the one that the manifest names",
              dataset.path() / file,
              "`inspect(verify=full)` says what is wrong, `repair()` replaces it");
}

}  // namespace packhorse
