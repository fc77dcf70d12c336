#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "labels/given_labels.h"
#include "sources/layout/source_contents.h"
#include "sources/layout/tree.h"
#include "sources/source.h"

namespace packhorse {

/// Says which folders of a source are splits and which are classes, by the same rule for a folder
/// on disk, an archive and a bucket. docs/sources.md, "The rule", has it in words.
///
///     const Layout layout = find_layout(contents, fields, options, path);
///     for (const Layout::Root& root : layout.roots) ...  // class folders lie in root.folder
struct Layout {
  /// A folder in which the class folders lie, unless its labels are given.
  struct Root {
    std::string split;          ///< "" where the source has no splits
    std::string folder;         ///< its path in the source; "" = the source itself
    std::string metadata = {};  ///< the file in it that gives the labels; "" = none
    bool given = false;         ///< labels come from a file or by a pattern: its folders are none
    std::optional<SourceContents::Archive> archive = {};  ///< where it is no folder
    int class_depth = 1;  ///< which of the folders around an image, from `folder` on, is its class
    /// Where the class folders lie, or would if they gave the labels: `folder`, or one inside it.
    std::string base = {};
    std::string split_folder = {};  ///< the name of the split's folder; "" where there are none
    /// Folders directly in `folder` that hold the fields of images alone: no classes.
    std::vector<std::string> field_folders = {};
    std::set<std::string> classes = {};  ///< names of its class folders that hold an input

    bool holds_fields(std::string_view name) const;
    /// The class folder of an image by its path below `folder`; "" when it lies in none.
    std::string_view class_of(std::string_view below) const;
    /// What a FieldPattern fills in for the image at `path` in the source.
    ImagePlace place_of(std::string_view path) const;
  };
  std::vector<Root> roots;             ///< at least one; none lies in another
  std::set<std::string> classes = {};  ///< of all roots, and of those without an input
  std::vector<std::string> notes = {};
  std::vector<Doubt> doubts = {};  ///< the gravest first

  /// The root that a path lies in, and in `below` the rest of the path; null for a path outside all
  /// roots.
  const Root* root_of(std::string_view path, std::string_view& below) const;
  bool some_by_folders() const;
  /// How the labels are given of the roots whose labels are.
  GivenLabels given_labels(const ListOptions& options, const std::filesystem::path& source) const;
  /// The rule by which everything outside the roots is skipped.
  std::string_view rule_outside() const;
};

/// Without doubts about classes where `options` leave no choice: where labels are given, the
/// classes are listed, or --classes-at says where they lie. The advice of the first doubt has been
/// tried. Throws Error(kUsage) for folders named in `options.split_folders` that do not exist.
Layout find_layout(const SourceContents& contents, const FieldSet& fields,
                   const ListOptions& options, const std::filesystem::path& source);

/// The same without that advice.
Layout find_layout(const Tree& tree, const SourceContents& contents, const ListOptions& options,
                   const std::filesystem::path& source);

/// What a user would give to name these splits: train=Training,val=more/Testing.
std::string split_folders_option(const std::vector<SplitFolder>& splits);

/// Adds to `layout` what speaks against its classes, the gravest first: inputs outside the one
/// shape whose class folders can only be classes, and classes that look like something else.
/// Nothing about classes where the options say them.
void doubt_classes(Layout& layout, const Tree& tree, const SourceContents& contents,
                   const ListOptions& options, const std::filesystem::path& source);

/// The same where the labels of "train" are given, once the listing has its labels: classes of
/// other splits that "train" lacks.
void doubt_given_labels(Listing& listing, const Layout& layout, const ListOptions& options);

/// The listing of a source's contents, each where the layout says that it belongs. Takes what it
/// needs out of `contents`. Labels are not set where they are given: give_labels() comes next.
Listing lay_out(SourceContents& contents, const Layout& layout, const ListOptions& options,
                const std::filesystem::path& source);

/// What `layout`, which has doubts, could be instead: the readings that the source can have, each
/// as the option that chooses it and what is packed then. Each has been tried on the contents;
/// without one that works, it says how to describe the source.
std::string advice_for(const Layout& layout, const SourceContents& contents,
                       const ListOptions& options, const std::filesystem::path& source);

/// Throws Error(kUsage) when `options` has settings for class folders; call it for a source that
/// has none.
void refuse_folder_options(const ListOptions& options, const std::filesystem::path& source);

/// The one labels file of a source without splits whose samples have no paths to look into. Throws
/// Error(kUsage) for other ways to give labels.
std::filesystem::path only_labels_file(const LabelOptions& labels,
                                       const std::filesystem::path& source);

}  // namespace packhorse
