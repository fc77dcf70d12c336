#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace packhorse {

/// Looks into folders for all kinds of sources that may be meant. A folder is read when somebody
/// first asks for it, and as far as somebody wants to see; what was read is shown to the next one
/// without reading it again. Entries of large folders are not kept, and few folders stay open that
/// were read in part: the others are read again. One thread.
class FolderLook {
 public:
  /// `most_kept`: entries, of all folders together.
  explicit FolderLook(std::size_t most_kept = 100'000) : most_kept_(most_kept) {}

  /// Shows what is directly in a folder, in the file system's order, until `look` is false. It may
  /// show an entry twice when a signal arrives. Throws Error(kNotFound | kIo).
  void look_in(const std::filesystem::path& folder,
               const std::function<bool(const std::filesystem::directory_entry&)>& look);

  /// Names of the files, or of the folders, in `folder` that are not hidden, sorted; none where it
  /// is no folder. Throws Error(kNotFound | kIo) for a folder that cannot be read.
  std::vector<std::string> files_in(const std::filesystem::path& folder);
  std::vector<std::string> folders_in(const std::filesystem::path& folder);

  /// Whether a folder directly holds a file named like an image. Throws Error(kNotFound | kIo).
  bool holds_image_names(const std::filesystem::path& folder);

 private:
  struct Folder {
    std::deque<std::filesystem::directory_entry> entries;     ///< those that were read
    std::optional<std::filesystem::directory_iterator> next;  ///< behind them; unset: none was read
    bool open = false;                                        ///< read in part
  };
  std::vector<std::string> names_in(const std::filesystem::path& folder, bool folders);
  void read_on(const std::filesystem::path& path, Folder& folder,
               const std::function<bool(const std::filesystem::directory_entry&)>& look);

  std::size_t most_kept_;
  std::map<std::string, Folder> folders_;  ///< by path
  std::size_t kept_ = 0, open_ = 0;
};

}  // namespace packhorse
