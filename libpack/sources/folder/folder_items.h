#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace packhorse {

/// Folders by device and inode: those that a link lies in, so that one to any of them is a loop.
using FolderId = std::pair<dev_t, ino_t>;
using FolderIds = std::set<FolderId>;

/// Which folder is open as `fd`; nothing when that cannot be learnt (errno).
std::optional<FolderId> folder_id(int fd);
/// The folder and all above it, as far as they may be entered. Throws Error(kNotFound | kIo).
FolderIds with_all_above(const std::filesystem::path& folder);

/// What a directory holds, sorted by name, in 48 bytes an item plus its name. Links are followed.
class FolderItems {
 public:
  enum class Type : std::uint8_t {
    kDirectory,
    kFile,
    kOther,
    kLoop,        ///< a link to a folder that it lies in
    kBroken,      ///< nothing can be learnt about it
    kPassedOver,  ///< hidden or junk by its name (naming::passed_over); not looked at
    kUnknown      ///< not looked at, though its name does not tell; of read_directory() alone
  };
  struct Item {
    std::uint64_t size = 0, inode = 0;  ///< of a file, as its stamp, after look_at_files()
    std::int64_t stamp = 0;
    std::uint64_t name = 0;  ///< where it starts in names_
    std::uint32_t length = 0;
    std::int32_t error = 0;  ///< errno of a broken one
    Type type = Type::kUnknown;
    bool looked_at = false;
  };

  FolderItems() = default;
  /// Reads the directory open as `fd`, which lies in `above` and is one of these. Only what has no
  /// type there is looked at, from up to `threads` threads. What was read before an error is kept.
  FolderItems(int fd, const FolderIds& above, int threads);

  /// Learns the size, inode and stamp of each file.
  void look_at_files(int fd, int threads);

  int error() const { return error_; }  ///< errno, 0 = read whole
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

  std::string names_;  ///< each with a zero behind it
  std::vector<Item> items_;
  int error_ = 0;
};

/// Calls visit(name, type) for what is in the directory open as `fd`, in the file system's order,
/// until it returns false. Returns errno, 0 when nothing went wrong. Once for each `fd`.
int read_directory(int fd, const std::function<bool(const char*, FolderItems::Type)>& visit);

/// Sets all but the name of an item of the directory open as `fd`, which lies in `above`.
void look_at(int fd, const char* name, const FolderIds& above, FolderItems::Item& item);

}  // namespace packhorse
