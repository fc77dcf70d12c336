#include "base/scratch_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

ScratchFile::ScratchFile(fs::path directory, std::string holds, std::string advice)
    : directory_(std::move(directory)),
      holds_(std::move(holds)),
      advice_(std::move(advice)),
      process_(::getpid()) {}

std::uint64_t ScratchFile::append(Bytes bytes, Bytes more) {
  std::call_once(opened_, [this] { fd_ = open_unnamed_file(directory_); });
  const std::uint64_t offset = end_.fetch_add(bytes.size() + more.size());
  try {
    write_exactly(fd_.get(), offset, bytes, directory_);
    write_exactly(fd_.get(), offset + bytes.size(), more, directory_);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNoSpace) throw;
    throw Error(ErrorKind::kNoSpace,
                fmt::format("no space left for the temporary file of {}, after {:.1f} MiB", holds_,
                            static_cast<double>(offset) / (1 << 20)),
                directory_, "free some space there, or " + advice_);
  }
  return offset;
}

void ScratchFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  read_exactly(fd_.get(), offset, out, directory_ / "(temporary file)");
}

void ScratchFile::remove(std::uint64_t offset, std::uint64_t bytes) {
  if (::getpid() != process_) return;
  ::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(bytes));
}

}  // namespace packhorse
