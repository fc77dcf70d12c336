#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/remote_files.h"
#include "packhorse/dataset/manifest.h"

namespace packhorse {

/// The files of the datasets at a URL, on their way there. Nothing there is ever replaced: a file
/// of the same name must be the same file. Thread-safe.
class BucketFiles {
 public:
  /// Throws Error(kUnsupported) where nothing can be stored, and as open_remote() does.
  explicit BucketFiles(const std::filesystem::path& url);

  const std::filesystem::path& url() const { return url_; }

  /// Whether there is a dataset, with or without splits.
  bool has_dataset() const;
  /// Whether the dataset of a split is complete.
  bool has_split(const std::string& split) const;
  /// Throws Error(kExists) when there is a dataset.json with another text.
  void refuse_other(const std::string& split, const std::string& manifest) const;

  /// Whether a file is there, stored by packhorse.
  bool holds(const std::string& split, const FileRecord& file) const;
  /// A file of at most `most` bytes; nothing where there is none.
  std::optional<std::string> text(const std::string& split, const std::string& name,
                                  std::uint64_t most) const;
  /// Stores a file that lies at `path`, unless it is there. Throws Error(kExists) when another one
  /// is, and as RemoteFiles::store() does.
  void store(const std::string& split, const FileRecord& file,
             const std::filesystem::path& path) const;
  void store_text(const std::string& split, std::string_view name, const std::string& text) const;
  /// Ends what was begun of the files of datasets, by their splits, and left by processes that were
  /// killed. Call it when the files are there, and dataset.json is not.
  struct Part {
    std::string split;
    const Manifest& manifest;
  };
  void end_uploads(const std::vector<Part>& parts) const;

 private:
  const std::filesystem::path url_;
  const std::shared_ptr<RemoteFiles> files_;
};

/// The name of a split's file below the place of the dataset.
std::string below_split(const std::string& split, const std::string& file);

/// A small file, or nothing where there is none.
std::optional<std::string> text_at(RemoteFiles& files, const std::string& name, std::uint64_t most);

/// A text as a file that has a path in this process.
class TextFile {
 public:
  explicit TextFile(const std::string& text);
  std::filesystem::path path() const;

 private:
  UniqueFd file_;
};

}  // namespace packhorse
