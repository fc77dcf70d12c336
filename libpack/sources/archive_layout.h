#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "packhorse/source.h"

namespace packhorse {

/// A member's name as a relative path: without "./", doubled slashes and one at the end. Nothing
/// when it is absolute, has a ".." in it, or is no path at all.
std::optional<std::string> clean_path(std::string_view name);

/// What an archive holds, before it is known which of its folders are splits and classes. All paths
/// are clean.
struct ArchiveContents {
  /// A file that is no image: passed over by a rule, or rejected for a reason.
  struct Other {
    std::string path;
    std::string_view rule;  ///< empty: rejected
    std::string reason;
  };
  EntryTable images;  ///< labels are not set
  std::vector<Other> others;
  std::vector<Reject> outside;    ///< names that are no clean path
  std::set<std::string> folders;  ///< down to the third level, none of them hidden

  /// Notes the folders that a file (or, with a slash at its end, a folder) lies in.
  void add_folders(std::string_view path);
};

/// The listing of a tree of class folders in an archive, by the same rules as a folder on disk. One
/// folder around everything is taken off first, when all images lie in folders within it.
Listing lay_out(const ArchiveContents& contents, const ListOptions& options,
                const std::filesystem::path& source);

}  // namespace packhorse
