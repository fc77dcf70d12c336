#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"

namespace packhorse {

class RemoteFiles;
struct Manifest;

/// Whether a name is a path that only goes down: relative, without "." and "..". It may still lead
/// through links: see DatasetDirectory.
bool is_inner_name(std::string_view name);

/// Throws Error(kUnsupported) when `directory` is a symbolic link, or holds one. Call it before
/// writing below a directory that may be part of a foreign dataset. The directory may be missing.
void refuse_links(const std::filesystem::path& directory);

/// A dataset's directory, and the only way to the files in it: a dataset never names anything
/// outside itself. Names must be is_inner_name() and lead to regular files, and no symbolic link on
/// the way is followed. There is one exception: adopted shards may be read through links.
///
/// The directory is held open: nothing changes when path() leads to another directory meanwhile. It
/// may also be a URL (remote_files.h): then files are copied before they are opened, and nothing
/// can be replaced. Thread-safe.
class DatasetDirectory {
 public:
  /// What may be a link.
  enum class Links {
    kNone,
    kToShards,  ///< adopted shards (links_of())
  };
  /// The rule for a dataset's data files.
  static Links links_of(const Manifest& manifest);

  /// Throws Error(kNotFound | kIo), and kUsage for a URL that the program cannot open.
  explicit DatasetDirectory(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  /// Opens a file for reading. Throws Error(kCorrupt) for a name that leads out of the dataset, a
  /// link, or anything but a regular file; Error(kNotFound | kIo).
  UniqueFd open(const std::string& name, Links links = Links::kNone) const;
  /// The same for a file whose size and SHA-256 are in the manifest. They are compared if the file
  /// is remote.
  UniqueFd open(const std::string& name, std::uint64_t bytes, const std::string& sha256,
                Links links = Links::kNone) const;
  /// The size of a file. Throws as open() does.
  std::uint64_t size(const std::string& name, Links links = Links::kNone) const;
  /// open(), also of a remote file: an unchecked copy of it. Also throws Error(kCorrupt) for more
  /// than `most` bytes.
  UniqueFd open_as_is(const std::string& name, std::uint64_t most,
                      Links links = Links::kNone) const;
  /// The remote files; nullptr for a directory.
  const std::shared_ptr<RemoteFiles>& remote() const { return remote_; }
  std::string read_text(const std::string& name) const;  ///< at most 256 MiB
  /// Whether the file has `bytes` bytes and this SHA-256. False where open() throws.
  bool holds(const std::string& name, std::uint64_t bytes, const std::string& sha256,
             Links links = Links::kNone) const;

  /// Syncs a finished file and moves it to its place in one rename; makes the directories it needs.
  /// Replaces what is there: a link itself, not what it leads to. Throws as open() does.
  void replace(const std::filesystem::path& finished, const std::string& name) const;

  /// Whether path() still leads to this directory.
  bool still_there() const;

 private:
  void refuse_outer(const std::string& name) const;
  UniqueFd open_beneath(const std::string& name, int flags) const;
  UniqueFd open_parent(const std::string& name) const;

  std::filesystem::path path_;
  std::shared_ptr<RemoteFiles> remote_;
  UniqueFd directory_;  ///< unless it is remote
};

}  // namespace packhorse
