#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "storage/http/credentials.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostFileBytes = 1u << 20;

std::optional<std::string> variable_of_process(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

/// The size that a file claims is not asked for: files of the kernel have none.
std::optional<std::string> file_on_disk(const std::string& path) {
  refuse_url(path);
  const UniqueFd fd = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!fd && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (!fd) throw_errno("open", path);
  std::string text;
  std::array<char, 16384> buffer{};
  while (true) {
    const ssize_t n = uninterrupted([&] { return ::read(fd.get(), buffer.data(), buffer.size()); });
    if (n < 0) throw_errno("read", path);
    if (n == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > kMostFileBytes)
      throw Error(ErrorKind::kUsage, "the file has more than 1 MiB, too much for credentials", path,
                  "check whether it is the right one");
  }
}

}  // namespace

Surroundings Surroundings::of_process() {
  return {variable_of_process, file_on_disk, std::chrono::system_clock::now};
}

}  // namespace packhorse
