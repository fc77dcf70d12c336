#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/sources/source.h"
#include "sources/fields/field_set.h"
#include "sources/folder/folder_items.h"
#include "sources/layout/attach_fields.h"

namespace packhorse {

/// What was found in a folder and in the folders below it.
struct FolderListing {
  EntryTable entries = {};
  std::vector<Reject> rejects = {};
  std::vector<Skip> skips = {};
  std::vector<FieldFile> field_files = {};  ///< that may be fields of images elsewhere
  UnreadableFolders unreadable = {};        ///< outside
};

/// Walks a folder and the folders below it. One thread; other walks may run at the same time.
class FolderWalk {
 public:
  /// `fields`: extra fields to look for. `origin`: the folder of the source that all paths are
  /// relative to. `above`: the folders around those to be walked. `threads`: used for the files of
  /// a large folder.
  FolderWalk(const FieldSet& fields, std::string origin, FolderIds above, int threads,
             FolderListing& out)
      : fields_(fields),
        origin_(std::move(origin)),
        above_(std::move(above)),
        threads_(threads),
        out_(out) {}

  /// Walks the folder `name` in the folder open as `parent`; `path` is its path in the split.
  /// Returns its id, or nothing when it was not walked.
  std::optional<FolderId> folder(int parent, const std::string& name, const std::string& path,
                                 std::int64_t label);
  /// Takes only the files of a folder, all of which have been looked at.
  void files(int fd, const FolderItems& items, const std::string& path, std::int64_t label);
  /// Skips everything in a folder, which must be one of those above, by `rule`, except the folders
  /// and files for which `left_alone` is true, and files that may be fields. A folder that cannot
  /// be listed is skipped, and noted as unreadable.
  void outside(int fd, FolderItems& items, const std::string& path, std::string_view rule,
               const std::function<bool(const std::string&)>& left_alone);

 private:
  enum class Verdict : std::uint8_t { kNone, kEntry, kField, kTaken };
  Verdict judge(int fd, const FolderItems& items, std::size_t i, const std::string& path);
  bool take_fields(const FolderItems& items, std::size_t image, std::vector<Verdict>& verdicts,
                   EntryTable::Facts& facts) const;

  bool take_field_file(const FolderItems& items, std::size_t i, const std::string& path);

  const FieldSet& fields_;
  const std::string origin_;
  FolderIds above_;
  int threads_;
  FolderListing& out_;
};

/// Whether a file that is not named like an image is one by its first bytes. A file that cannot be
/// read is taken for an image, so that packing rejects it by name and it is not lost.
bool looks_like_image(int folder, const char* name);

}  // namespace packhorse
