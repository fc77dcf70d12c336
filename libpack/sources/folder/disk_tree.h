#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "packhorse/base/file.h"
#include "sources/fields/field_set.h"
#include "sources/folder/folder_items.h"
#include "sources/layout/folder_tree.h"

namespace packhorse {

/// A folder on a disk, held open, with what was in it when it was read.
struct OpenFolder {
  UniqueFd fd;
  int error = 0;    ///< errno of opening or reading it, 0 = read completely
  FolderIds above;  ///< the folder itself and all it lies in
  FolderItems items;
};

/// A tree on a disk. Each folder whose folders are asked for is read once; later additions are not
/// seen. Links are followed, except links to a folder they lie in, even one above the root. Folders
/// that do not exist or may not be read are empty. Needs one file descriptor for each folder read.
/// All members but the destructor throw Error(kIo) when a folder cannot be read for another reason.
/// One thread.
class DiskTree final : public FolderTree {
 public:
  /// Throws Error(kNotFound | kIo). `fields`: files that may be one of these are not images; it
  /// must outlive this. `threads`: used for folders whose file system does not report file types.
  DiskTree(std::filesystem::path root, const FieldSet& fields, int threads);

  std::vector<std::string> folders(const std::string& folder) const override;
  bool holds_images(const std::string& folder) const override;
  bool holds_images_below(const std::string& folder, Told told) const override;
  /// "metadata.csv" or "metadata.jsonl", as Hugging Face's `imagefolder` has them, when it has a
  /// column file_name and a column label.
  std::string metadata_in(const std::string& folder) const override;
  bool is_archive(const std::string& path) const override;

  /// Hands over the folder as folders() has read it and drops it from the tree. Throws
  /// Error(kNotFound | kIo) when it could not be read completely.
  OpenFolder take(const std::string& folder);

 private:
  OpenFolder& opened(const std::string& folder) const;
  UniqueFd open(const std::string& folder) const;
  std::filesystem::path path_of(const std::string& folder) const {
    return folder.empty() ? root_ : root_ / folder;
  }
  /// The folder and all folders it lies in.
  FolderIds down_to(const std::string& folder) const;

  std::filesystem::path root_;
  const FieldSet& fields_;
  int threads_;
  FolderIds above_root_;  ///< the root and all folders above it
  mutable std::map<std::string, OpenFolder> opened_;
};

}  // namespace packhorse
