#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "listing/listing.h"

/// What is common to the sources made of files on a disk.
namespace packhorse {

/// Threads that list files: more than there are processors, since on slow storage they mostly wait.
int listing_threads();

/// The time of the last change, in nanoseconds.
std::int64_t stamp_of(const struct stat& status);

/// A stamp that differs when `stamp` or `value` does; never 0.
std::int64_t mix_stamp(std::int64_t stamp, std::uint64_t value);

/// Reads files by their names below a folder. The folder is held open, so that its path is not
/// looked up again for each file. Thread-safe.
class ListedFolder {
 public:
  /// Throws Error(kNotFound | kIo).
  explicit ListedFolder(std::filesystem::path path);

  /// Reads a whole file. Throws Error(kIo) when it does not have `size` bytes.
  void read(const std::string& name, std::uint64_t size, std::vector<std::byte>& out) const;
  /// Reads an image's file, or as much of it as Input::head asks for.
  void read_image(const std::string& name, std::uint64_t size, Input& out) const;
  enum class Links { kAny, kInside };
  /// The same for a file whose own size was not listed. Throws Error(kIo) when it changes
  /// meanwhile, and, with kInside, when links lead out of the folder.
  void read_unlisted(const std::string& name, std::vector<std::byte>& out,
                     Links links = Links::kAny) const;
  /// Asks the kernel to load the file into memory. Never throws. Returns false when it is there
  /// already.
  bool prefetch(const std::string& name) const;

  const std::filesystem::path& path() const { return path_; }

 private:
  UniqueFd open(const std::string& name) const;
  void refuse_outside(int fd, const std::filesystem::path& path) const;
  std::filesystem::path path_;
  UniqueFd fd_;
};

}  // namespace packhorse
