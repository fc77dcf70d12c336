#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "packhorse/base/file.h"

namespace packhorse {

struct Manifest;

/// Whether a name is a path that goes down from where it starts: relative, without "." and "..".
/// Links are another matter: see DatasetDirectory.
bool is_inner_name(std::string_view name);

/// For who is going to write below a directory that may have come with somebody's dataset or
/// shards: throws Error(kUnsupported) when it is a symbolic link, or holds one. Not there is fine.
void refuse_links(const std::filesystem::path& directory);

/// A dataset's directory, and the one door to what is in it: a dataset never names anything outside
/// of itself. Names are is_inner_name(), whatever they lead to must be a regular file, and no
/// symbolic link is followed on the way. The one exception are the shards of others that `index`
/// made a dataset of: those may be reached through links, to be read.
///
/// The directory is held open: a path that leads to another directory meanwhile changes nothing.
/// Thread-safe.
class DatasetDirectory {
 public:
  /// What may be a link.
  enum class Links {
    kNone,
    kToShards,  ///< the name is a shard's that others made (links_of())
  };
  /// For the data files of a dataset.
  static Links links_of(const Manifest& manifest);

  /// Throws Error(kNotFound | kIo).
  explicit DatasetDirectory(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  /// Opens a file for reading. Throws Error(kCorrupt) for a name that leads out, a link or what is
  /// no regular file, Error(kNotFound | kIo).
  UniqueFd open(const std::string& name, Links links = Links::kNone) const;
  std::string read_text(const std::string& name) const;  ///< of 256 MiB at most
  /// Whether it holds `bytes` bytes with this SHA-256. False for what open() throws for.
  bool holds(const std::string& name, std::uint64_t bytes, const std::string& sha256,
             Links links = Links::kNone) const;

  /// Gives a finished file its place, with a sync, in one rename; makes the directories it needs.
  /// What is there is replaced, itself and not what it may lead to. Throws as open() does.
  void replace(const std::filesystem::path& finished, const std::string& name) const;

  /// Whether path() still leads to this directory.
  bool still_there() const;

 private:
  UniqueFd open_beneath(const std::string& name, int flags) const;
  UniqueFd open_parent(const std::string& name) const;

  std::filesystem::path path_;
  UniqueFd directory_;
};

}  // namespace packhorse
