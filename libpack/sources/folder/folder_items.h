#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sources/fields/field_set.h"
#include "sources/layout/source_contents.h"

namespace packhorse {

/// Folders by device and inode. The set holds the folders that a link lies in: a link to any of
/// them is a loop.
using FolderId = std::pair<dev_t, ino_t>;
using FolderIds = std::set<FolderId>;

/// The folder that is open as `fd`; nothing when this cannot be found out (errno).
std::optional<FolderId> folder_id(int fd);
/// The folder and all folders above it that may be entered. Throws Error(kNotFound | kIo).
FolderIds with_all_above(const std::filesystem::path& folder);

/// The contents of a directory, sorted by name; an item takes 48 bytes and its name. Links are
/// followed.
class FolderItems {
 public:
  enum class Type : std::uint8_t {
    kDirectory,
    kFile,
    kOther,
    kLoop,        ///< a link to a folder that the link lies in
    kBroken,      ///< cannot be examined
    kPassedOver,  ///< hidden or junk by its name (naming::passed_over); not looked at
    kUnknown  ///< not looked at, and the directory does not give a type; only from read_directory()
  };
  struct Item {
    std::uint64_t size = 0, inode = 0;  ///< of a file, like its stamp; set by look_at_files()
    std::int64_t stamp = 0;
    std::uint64_t name = 0;  ///< where the name starts in names_
    std::uint32_t length = 0;
    std::int32_t error = 0;  ///< errno of a broken item
    Type type = Type::kUnknown;
    bool looked_at = false;
  };

  FolderItems() = default;
  /// Reads the directory open as `fd`; `above` holds it and the folders it lies in. Only items
  /// whose type the directory does not give are looked at, by up to `threads` threads. What was
  /// read before an error is kept.
  FolderItems(int fd, const FolderIds& above, int threads);

  /// Learns the size, inode and stamp of each file.
  void look_at_files(int fd, int threads);

  int error() const { return error_; }  ///< errno, 0 = read completely
  std::size_t size() const { return items_.size(); }
  const Item& operator[](std::size_t i) const { return items_[i]; }
  std::string_view name(std::size_t i) const {
    return std::string_view(names_).substr(items_[i].name, items_[i].length);
  }
  const char* c_name(std::size_t i) const { return names_.c_str() + items_[i].name; }
  std::optional<std::size_t> find(std::string_view name) const;
  std::vector<std::string> folders() const;

 private:
  void look_at_some(int fd, const FolderIds& above, int threads, Type wanted);

  std::string names_;  ///< each followed by a zero
  std::vector<Item> items_;
  int error_ = 0;
};

/// Calls visit(name, type) for everything in the directory open as `fd`, in the file system's
/// order, until it returns false. Returns errno, 0 when nothing went wrong. Call it once for each
/// `fd`.
int read_directory(int fd, const std::function<bool(const char*, FolderItems::Type)>& visit);

/// Sets everything but the name of an item; `fd` is its directory, and `above` the folders it lies
/// in.
void look_at(int fd, const char* name, const FolderIds& above, FolderItems::Item& item);

/// Reads a folder and all that is in it, with several threads. Links are followed, except links to
/// a folder they lie in, even one above `root`. Folders that may not be read are rejects; so is
/// what lies in more than naming::kMostFolders folders. Throws Error(kNotFound | kIo) when `root`,
/// or any folder for another reason, cannot be read: then its classes cannot be known.
SourceContents read_folder(const std::filesystem::path& root, const FieldSet& fields,
                           const std::shared_ptr<EntryMemory>& memory);

/// Whether a file that is not named like an image is one by its first bytes. A file that cannot be
/// read is taken for an image, so that packing rejects it by name and it is not lost.
bool looks_like_image(int folder, const char* name);

}  // namespace packhorse
