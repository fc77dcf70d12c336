#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "packhorse/annotations/target_options.h"
#include "packhorse/labels/label_options.h"
#include "packhorse/listing/inputs.h"

/// How a source is read: which of its folders are splits and classes, and what its samples have.
namespace packhorse {

class EntryMemory;

/// A folder of the source that is a split, or an archive that is read as a folder.
struct SplitFolder {
  std::string split;   ///< its name in the dataset
  std::string folder;  ///< its path in the source, clean
};

/// Parses "train=Training,val=Testing". A folder alone is a split of that name; "none" means no
/// folder. Throws Error(kUsage).
std::vector<SplitFolder> parse_split_folders(const std::string& text);

/// Parses "seg.png=masks" or "mask.gif=masks/{stem}_mask.gif". Throws Error(kUsage) for what names
/// no files inside the source.
FieldPlace parse_field_place(const std::string& text, bool required);

struct ListOptions {
  /// Pins labels: label = place in this list. Empty: class names in byte order.
  std::vector<std::string> classes = {};
  /// The folders that are splits, and no others; an empty list: no splits. Nothing: found by their
  /// names. Only for folders and archives of class folders.
  std::optional<std::vector<SplitFolder>> split_folders = {};
  /// Accepts class folders as classes although their names or their layout speak against it. Only
  /// for folders and archives.
  bool allow_odd_classes = false;
  /// Which of the folders around an image is its class, counted from the source, or from the
  /// folders in `split_folders`; 0: found by the layout's shape. It decides all doubts about
  /// classes.
  int classes_at = 0;
  LabelOptions labels = {};
  FieldChoice fields = {};
  /// Globs, as SelectOptions::exclude: what they match in a folder or an archive is as if it were
  /// not there, also for the layout.
  std::vector<std::string> exclude = {};
  TargetOptions targets = {};
  /// Where a source may put large unnamed scratch files; empty: the system's directory for
  /// temporary files.
  std::filesystem::path scratch = {};
  /// What the entries may take; null: as much memory as they need.
  std::shared_ptr<EntryMemory> memory = {};
};

}  // namespace packhorse
