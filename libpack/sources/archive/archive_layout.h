#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "packhorse/sources/source.h"
#include "sources/layout/attach_fields.h"
#include "sources/layout/folder_tree.h"
#include "sources/layout/layout.h"

namespace packhorse {

/// What an archive holds, before its splits and class folders are known. All paths are clean.
struct ArchiveContents {
  /// A file that is not an image: skipped by a rule, or rejected for a reason.
  struct Other {
    std::string path;
    std::string_view rule;  ///< empty: rejected
    std::string reason;
  };
  EntryTable images;  ///< labels are not set
  std::vector<Other> others;
  std::vector<Reject> outside;         ///< names that are not a clean path
  std::vector<FieldFile> field_files;  ///< that may be fields of images elsewhere
  PathTree tree;                       ///< of the folders and images
};

/// The listing of a tree of class folders in an archive, by the same rules as a folder on disk.
/// Labels are not set where they are given: give_labels() comes next, and then doubt_classes().
Listing lay_out(const ArchiveContents& contents, const Layout& layout, const ListOptions& options,
                const std::filesystem::path& source);

}  // namespace packhorse
