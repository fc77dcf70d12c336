#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "labels/given_labels.h"
#include "packhorse/sources/source.h"
#include "sources/fields/field_set.h"
#include "sources/layout/folder_tree.h"

namespace packhorse {

/// Says which folders of a tree are splits and which folder holds the class folders, by the same
/// rules for a folder on disk and for an archive. docs/sources.md has a table of which tree becomes
/// what.
///
///     const Layout layout = find_layout(DiskTree(path), options, fields, path);
///     for (const Layout::Root& root : layout.roots) ...  // the folders in root.folder are classes
struct Layout {
  /// A folder whose folders are classes, unless its labels are given.
  struct Root {
    std::string split;          ///< "" where the source has no splits
    std::string folder;         ///< its path in the source; "" = the source itself
    std::string metadata = {};  ///< the file in it that gives the labels; "" = none
    bool given = false;         ///< labels come from a file or by a pattern: its folders are none
    bool archive = false;       ///< it is an archive, not a folder
    /// Where the class folders lie, or would if they gave the labels: `folder`, or one inside it.
    std::string base = {};
    std::string split_folder = {};  ///< the name of the split's folder; "" where there are none
    /// Folders directly in `folder` that hold the fields of images alone: no classes.
    std::vector<std::string> field_folders = {};

    bool holds_fields(std::string_view name) const;
    /// What a FieldPattern fills in for the image at `path` in the source.
    ImagePlace place_of(std::string_view path) const;
  };
  std::vector<Root> roots;  ///< at least one; none lies in another
  std::vector<std::string> notes;
  std::vector<Doubt> doubts;

  /// The root that a path lies in, and in `below` the rest of the path; null for a path outside all
  /// roots.
  const Root* root_of(std::string_view path, std::string_view& below) const;
  bool is_root(std::string_view folder) const;
  bool some_by_folders() const;
  /// How the labels are given of the roots whose labels are.
  GivenLabels given_labels(const ListOptions& options, const std::filesystem::path& source) const;
  /// The rule by which everything outside the roots is skipped.
  std::string_view rule_outside() const;
};

/// `tree` must not count as an image what may be one of the `fields`. Throws Error(kUsage) for
/// folders named in `options.split_folders` that do not exist.
Layout find_layout(const FolderTree& tree, const ListOptions& options, const FieldSet& fields,
                   const std::filesystem::path& source);

/// "--split-folders train=Training,val=more/Testing": what a user would type to name these splits.
std::string split_folders_option(const std::vector<SplitFolder>& splits);

}  // namespace packhorse
