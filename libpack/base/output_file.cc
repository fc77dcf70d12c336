#include "base/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <span>
#include <system_error>
#include <thread>

#include "base/paths.h"
#include "base/printable.h"
#include "base/text.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr int kMostLinks = 40;  ///< the kernel's bound, too
constexpr std::size_t kStreamBuffer = 1u << 20;
constexpr auto kReaderPoll = std::chrono::milliseconds(20);

/// Where output goes.
struct Place {
  enum class Kind { kFile, kStream, kDescriptor } kind = Kind::kFile;
  fs::path path;        ///< kFile: what is replaced; kStream: what is opened
  int descriptor = -1;  ///< kDescriptor
};

/// The number in /proc/self/fd/N, by whatever name of that folder.
std::optional<int> own_descriptor(const fs::path& path) {
  const auto number = parse_number<int>(path.filename().native());
  if (number.value_or(-1) < 0) return std::nullopt;
  std::error_code code;
  const fs::path folder = fs::canonical(folder_around(path), code);
  if (code || folder != fs::canonical("/proc/self/fd", code)) return std::nullopt;
  return number;
}

/// Follows links by hand: the file that the last one names need not exist, and those in
/// /proc/self/fd name files that have no path.
Place follow(fs::path path) {
  for (int links = 0; links < kMostLinks; ++links) {
    if (const auto number = own_descriptor(path)) return {Place::Kind::kDescriptor, path, *number};
    std::error_code code;
    if (!fs::is_symlink(fs::symlink_status(path, code))) return {Place::Kind::kFile, path};
    const fs::path to = fs::read_symlink(path, code);
    if (code) throw_code(code, "follow the link", path);
    path = folder_around(path) / to;
  }
  errno = ELOOP;
  throw_errno("follow the link", path);
}

Place place_of(const fs::path& path) {
  refuse_url(path.native());
  Place place = follow(path);
  struct stat status {};
  if (place.kind == Place::Kind::kDescriptor || ::stat(path.c_str(), &status) != 0 ||
      S_ISREG(status.st_mode))
    return place;
  if (S_ISDIR(status.st_mode))
    throw Error(ErrorKind::kUsage, "cannot write to it: it is a directory", path,
                "name a file in it");
  if (S_ISSOCK(status.st_mode))
    throw Error(ErrorKind::kUsage, "cannot write to it: it is a socket", path,
                "name a file, a FIFO or a device");
  return {Place::Kind::kStream, path};
}

/// Opens without waiting, again and again: open(2) itself would wait for a FIFO's reader, and see
/// no stop.
UniqueFd open_stream(const fs::path& path, const std::stop_token& stop) {
  while (true) {
    UniqueFd fd = open_file(path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
    if (fd) {
      if (::fcntl(fd.get(), F_SETFL, 0) != 0) throw_errno("open", path);
      return fd;
    }
    if (errno != ENXIO) throw_errno("open", path);
    std::error_code code;
    if (!fs::is_fifo(path, code)) {
      errno = ENXIO;
      throw_errno("open", path);
    }
    if (stop.stop_requested())
      throw Error(ErrorKind::kInterrupted, "stopped while nobody read the FIFO", path);
    std::this_thread::sleep_for(kReaderPoll);
  }
}

[[noreturn]] void refuse_output(const fs::path& path, const std::string& why) {
  throw Error(ErrorKind::kUsage, "cannot write to it: " + why, path,
              "name a file that does not exist yet, or remove this one first if nobody needs it");
}

bool lies_in(const fs::path& file, const fs::path& folder) {
  std::error_code code;
  const fs::path inner = fs::canonical(file, code), outer = fs::canonical(folder, code);
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

/// The folder of what a pattern such as a/b-*.tar matches, or a/b-{0..9}.tar; else the path itself.
fs::path folder_of_pattern(const fs::path& path) {
  const std::size_t pattern = path.native().find_first_of("*?[{");
  if (pattern == std::string::npos || path_exists(path)) return path;
  return folder_around(path.native().substr(0, pattern));
}

/// By its first bytes: a text in UTF-8 has no zero byte.
bool is_text(const fs::path& path) {
  constexpr std::size_t kLooked = 4096, kLongestCharacter = 4;
  const UniqueFd fd = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!fd) return true;  // said by what opens it for writing
  std::string head(std::min<std::uint64_t>(kLooked, file_size(fd.get(), path)), '\0');
  read_exactly(fd.get(), 0, std::as_writable_bytes(std::span(head)), path);
  if (head.find('\0') != std::string::npos) return false;
  for (std::size_t cut = 0; cut < std::min(kLongestCharacter, head.size() + 1); ++cut)
    if (is_utf8(std::string_view(head).substr(0, head.size() - cut))) return true;
  return false;
}

}  // namespace

void refuse_replacing(const fs::path& output, const std::vector<fs::path>& inputs,
                      OutputContent content) {
  struct stat there {
  }, read{};
  if (output.empty() || is_url(output.native())) return;
  const Place place = follow(output);
  if (place.kind != Place::Kind::kFile || ::stat(place.path.c_str(), &there) != 0 ||
      !S_ISREG(there.st_mode))
    return;
  for (const fs::path& named : inputs) {
    const fs::path input = folder_of_pattern(named);
    if (::stat(input.c_str(), &read) != 0) continue;
    if (read.st_dev == there.st_dev && read.st_ino == there.st_ino)
      refuse_output(output, "it is the same file as '" + printable(input.native()) +
                                "', which the command reads or writes");
    if (S_ISDIR(read.st_mode) && lies_in(place.path, input))
      refuse_output(output,
                    "it is a file in '" + printable(input.native()) + "', which the command reads");
  }
  if (content == OutputContent::kText && !is_text(place.path))
    refuse_output(output, "a text would replace a file that is none, such as an image or a shard");
}

bool is_stream(const fs::path& output) {
  return !output.empty() && place_of(output).kind != Place::Kind::kFile;
}

OutputFile::OutputFile(const fs::path& path, const std::stop_token& stop) : path_(path) {
  const Place place = place_of(path);
  switch (place.kind) {
    case Place::Kind::kFile:
      file_.emplace(place.path);
      return;
    case Place::Kind::kStream:
      stream_ = open_stream(path, stop);
      return;
    case Place::Kind::kDescriptor:
      stream_.reset(::fcntl(place.descriptor, F_DUPFD_CLOEXEC, 0));
      if (!stream_) throw_errno("write to", path);
      standard_output_ = place.descriptor == STDOUT_FILENO;
  }
}

void OutputFile::write(Bytes bytes) {
  if (file_) return file_->write(bytes);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  if (buffer_.size() >= kStreamBuffer) flush_stream();
}

void OutputFile::flush_stream() {
  try {
    append_exactly(stream_.get(), buffer_, path_);
  } catch (const Error&) {
    if (standard_output_ && reader_is_gone(stream_.get()))
      throw std::system_error(EPIPE, std::generic_category(), "standard output");
    throw;
  }
  buffer_.clear();
}

void OutputFile::commit() {
  if (file_) return file_->commit();
  flush_stream();
  // Some devices and file systems report what failed only here.
  if (::close(stream_.release()) != 0 && errno != EINTR) throw_errno("write to", path_);
}

bool reader_is_gone(int fd) {
  pollfd one{fd, POLLOUT, 0};
  return ::poll(&one, 1, 0) == 1 && (one.revents & (POLLERR | POLLHUP)) != 0;
}

bool write_output(const fs::path& path, Bytes bytes, const std::stop_token& stop) {
  OutputFile file(path, stop);
  file.write(bytes);
  file.commit();
  return file.is_standard_output();
}

void check_output(const fs::path& path) {
  const Place place = place_of(path);
  if (place.kind == Place::Kind::kFile) TemporaryFile(place.path);
}

}  // namespace packhorse
