#include "sources/folder/disk_tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "archive/archive_scan.h"
#include "labels/label_rows.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/folder/folder_walk.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Told = FolderTree::Told;
using Type = FolderItems::Type;

constexpr int kFolder = O_RDONLY | O_DIRECTORY;

/// A folder that does not exist or may not be read counts as empty: listing will reject it. After
/// any other error the classes cannot be known.
void check_listed(int error, const fs::path& where) {
  if (error == 0 || error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES)
    return;
  errno = error;
  throw_errno("list the folder", where);
}

/// Looks for images and stops at the first.
class ImageSearch {
 public:
  /// `above`: the folder `folder` of the tree, which is searched, and all folders it lies in.
  ImageSearch(const fs::path& root, Told told, const FieldSet& fields, FolderIds above)
      : root_(root), told_(told), fields_(fields), above_(std::move(above)) {}

  /// Searches `folder`, which is open as `fd`; adds the folders directly in it to `folders`.
  bool right_in(const UniqueFd& fd, const std::string& folder,
                std::vector<std::string>& folders) const {
    if (!fd) check_listed(errno, root_ / folder);
    bool found = false;
    std::vector<std::string> unnamed;
    const int error = read_directory(fd.get(), [&](const char* name, Type type) {
      if (type == Type::kUnknown) {
        FolderItems::Item item;
        look_at(fd.get(), name, above_, item);
        type = item.type;
      }
      if (type == Type::kDirectory) folders.emplace_back(name);
      if (type != Type::kFile || may_be_field(folder, name)) return true;
      found = naming::has_any_image_name(name);
      if (!found && told_ == Told::kByNameOrBytes) unnamed.emplace_back(name);
      return !found;
    });
    if (fd) check_listed(error, root_ / folder);
    return found || std::any_of(unnamed.begin(), unnamed.end(), [&](const std::string& name) {
             return looks_like_image(fd.get(), name.c_str());
           });
  }

  /// Searches the folder and everything below it.
  bool below(const UniqueFd& fd, const std::string& folder) {
    if (fields_.covers(folder)) return false;
    std::vector<std::string> folders;
    return right_in(fd, folder, folders) ||
           std::any_of(folders.begin(), folders.end(), [&](const std::string& name) {
             const UniqueFd inner = open_at(fd.get(), name.c_str(), kFolder);
             if (!inner) check_listed(errno, root_ / folder / name);
             const std::optional<FolderId> id = folder_id(inner.get());
             if (!id || !above_.insert(*id).second) return false;
             const bool found = below(inner, naming::join(folder, name));
             above_.erase(*id);
             return found;
           });
  }

 private:
  bool may_be_field(const std::string& folder, const char* name) const {
    return fields_.may_be_beside(name) ||
           (fields_.any_elsewhere() && fields_.may_be_elsewhere(naming::join(folder, name)));
  }

  const fs::path& root_;
  const Told told_;
  const FieldSet& fields_;
  FolderIds above_;
};

}  // namespace

DiskTree::DiskTree(fs::path root, const FieldSet& fields, int threads)
    : root_(std::move(root)),
      fields_(fields),
      threads_(threads),
      above_root_(with_all_above(root_)) {}

FolderIds DiskTree::down_to(const std::string& folder) const {
  FolderIds ids = above_root_;
  struct stat status {};
  for (std::string_view path = folder; !path.empty(); path = naming::directory_of(path)) {
    if (::stat((root_ / path).c_str(), &status) == 0) ids.emplace(status.st_dev, status.st_ino);
  }
  return ids;
}

UniqueFd DiskTree::open(const std::string& folder) const {
  return open_file(path_of(folder), kFolder);
}

OpenFolder& DiskTree::opened(const std::string& folder) const {
  const auto [place, is_new] = opened_.try_emplace(folder);
  OpenFolder& one = place->second;
  if (!is_new) return one;
  one.fd = open(folder);
  one.error = one.fd ? 0 : errno;
  check_listed(one.error, path_of(folder));
  if (one.error != 0) return one;
  one.above = down_to(folder);
  one.items = FolderItems(one.fd.get(), one.above, threads_);
  one.error = one.items.error();
  check_listed(one.error, path_of(folder));
  return one;
}

std::vector<std::string> DiskTree::folders(const std::string& folder) const {
  return opened(folder).items.folders();
}

bool DiskTree::holds_images(const std::string& folder) const {
  std::vector<std::string> folders;
  return ImageSearch(root_, Told::kByNameOrBytes, fields_, down_to(folder))
      .right_in(open(folder), folder, folders);
}

bool DiskTree::holds_images_below(const std::string& folder, Told told) const {
  return ImageSearch(root_, told, fields_, down_to(folder)).below(open(folder), folder);
}

std::string DiskTree::metadata_in(const std::string& folder) const {
  std::vector<std::string> found;
  std::error_code code;
  for (const char* name : {"metadata.csv", "metadata.jsonl"}) {
    const fs::path path = path_of(folder) / name;
    if (fs::is_regular_file(path, code) && has_label_columns(path, "file_name", "label"))
      found.emplace_back(name);
  }
  return found.size() == 1 ? found.front() : std::string();
}

bool DiskTree::is_archive(const std::string& path) const {
  std::error_code code;
  const fs::path file = path_of(path);
  if (!fs::is_regular_file(file, code)) return false;
  return has_archive_name(file.native()) ||
         packhorse::is_archive(open_for_reading(file).get(), file);
}

OpenFolder DiskTree::take(const std::string& folder) {
  OpenFolder one = std::move(opened(folder));
  opened_.erase(folder);
  if (one.error == 0) return one;
  errno = one.error;
  throw_errno("list the folder", path_of(folder));
}

}  // namespace packhorse
