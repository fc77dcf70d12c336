#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "listing/listing.h"

namespace packhorse {

struct Layout;
struct ListOptions;

/// A file that may be the field of an image elsewhere in the source.
struct FieldFile {
  std::string path;  ///< in the source
  std::uint64_t size = 0;
  std::int64_t stamp = 0;
  std::uint64_t locator = 0;
};

/// Folders that could not be listed, by their paths in the source, and why.
using UnreadableFolders = std::map<std::string, std::string, std::less<>>;

/// What a folder, an archive or a bucket holds, before its splits and classes are known. All paths
/// are clean and relative to the source.
struct SourceContents {
  /// A file that is not an image: skipped by a rule, or rejected for a reason.
  struct Other {
    std::string path;
    std::string_view rule;  ///< empty: rejected
    Problem problem;        ///< why, if so
  };
  EntryTable images;  ///< sorted by path; labels are not set
  std::vector<Other> others;
  std::vector<Reject> outside;         ///< names that are not a clean path
  std::vector<FieldFile> field_files;  ///< that may be fields of images elsewhere
  UnreadableFolders unreadable;
  /// All folders that hold no image directly, in any order; others may be among them.
  std::vector<std::string> folders;
  std::vector<std::string> datasets;  ///< folders that packhorse has packed
  std::vector<std::string> emptied;   ///< folders of which images were left out
  /// The files that give the labels of the images in a folder: Hugging Face's metadata.csv.
  std::map<std::string, std::string, std::less<>> metadata;
  /// Pairs of paths that lead to one folder.
  std::vector<std::pair<std::string, std::string>> twins;
  /// The bytes of an image, for a look at a few of them; empty when it cannot be read, or is large.
  /// Null: none is looked at.
  using Look = std::function<std::vector<std::byte>(const EntryTable::Entry& image)>;
  Look look;
  /// What is in an archive that is a split.
  struct Archive {
    std::set<std::string> classes;  ///< the class folders
    std::uint64_t images = 0;
    bool doubted = false;  ///< it has doubts of its own
  };
  /// Reads the archive at a path, for a split of that name; nothing when it is none. Null: no
  /// archives are looked for.
  std::function<std::optional<Archive>(const std::string& path, const std::string& split)>
      read_archive;
  /// The folder on a disk that it is; empty for an archive or a bucket, whose files are not opened.
  std::filesystem::path disk;
  /// Readings with the annotations in the source, as advice has them; tried. Null: none are tried.
  using AnnotatedReadings = std::function<std::vector<std::string>(
      const Layout&, const SourceContents&, const ListOptions&,
      const std::filesystem::path& source)>;
  AnnotatedReadings annotated_readings;
};

/// Makes SourceContents::look of a function that reads an image, and may throw.
SourceContents::Look careful_look(
    std::function<void(const EntryTable::Entry&, std::vector<std::byte>&)> read);

/// Turns images and rejects whose paths match one of the globs into skips, as if they were not
/// there; then NumPy files, where there are other images.
void leave_out(SourceContents& contents, const std::vector<std::string>& globs);

}  // namespace packhorse
