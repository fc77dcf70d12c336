#include "sources/folder_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "packhorse/error.h"
#include "packhorse/file.h"
#include "sources/folder_walk.h"
#include "sources/naming.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using naming::join;

std::string_view directory_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

void insert(std::set<std::string, std::less<>>& set, std::string_view text) {
  if (!set.contains(text)) set.emplace(text);
}

/// Whether `set` has `folder` or a path below it.
bool has_below(const std::set<std::string, std::less<>>& set, const std::string& folder) {
  if (folder.empty()) return !set.empty();
  if (set.contains(folder)) return true;
  const auto first = set.lower_bound(folder + '/');
  return first != set.end() && first->starts_with(folder + '/');
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

/// Calls visit(directory's fd, entry) for what is not passed over, until that returns true. Returns
/// whether it did. A folder that is not there, or that may not be read, holds nothing: listing
/// rejects it. With any other error nobody knows what the classes are.
template <class Visit>
bool any_entry(const fs::path& path, const Visit& visit) {
  UniqueFd fd = open_file(path, O_RDONLY | O_DIRECTORY);
  if (!fd && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EACCES))
    return false;
  const std::unique_ptr<DIR, CloseDirectory> directory(fd ? ::fdopendir(fd.get()) : nullptr);
  if (!directory) throw_errno("list the folder", path);
  fd.release();
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr && errno != 0) throw_errno("list the folder", path);
    if (entry == nullptr) return false;
    if (naming::passed_over(entry->d_name) != nullptr) continue;
    if (visit(::dirfd(directory.get()), *entry)) return true;
  }
}

mode_t type_of(int directory, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN && entry.d_type != DT_LNK) return DTTOIF(entry.d_type);
  struct stat status {};
  return ::fstatat(directory, entry.d_name, &status, 0) == 0 ? status.st_mode & S_IFMT : 0;
}

}  // namespace

void PathTree::add_image(std::string_view path) {
  const std::string_view directory = directory_of(path);
  if (!with_images_.contains(directory)) {
    add_other(path);
    with_images_.emplace(directory);
  }
  if (naming::has_any_image_name(path)) insert(with_image_names_, directory);
}

void PathTree::add_other(std::string_view path) {
  for (std::string_view folder = directory_of(path); !folder.empty() && !folders_.contains(folder);
       folder = directory_of(folder)) {
    folders_.emplace(folder);
  }
}

std::vector<std::string> PathTree::folders(const std::string& folder) const {
  const std::string prefix = folder.empty() ? "" : folder + '/';
  std::vector<std::string> names;
  auto it = folders_.lower_bound(prefix);
  while (it != folders_.end() && it->starts_with(prefix)) {
    const std::size_t slash = it->find('/', prefix.size());
    if (slash == std::string::npos) {
      names.push_back((it++)->substr(prefix.size()));
    } else {  // past all that is in that folder
      it = folders_.lower_bound(it->substr(0, slash) + static_cast<char>('/' + 1));
    }
  }
  return names;
}

bool PathTree::holds_images(const std::string& folder) const {
  return with_images_.contains(folder);
}

bool PathTree::holds_images_below(const std::string& folder, Told told) const {
  return has_below(told == Told::kByName ? with_image_names_ : with_images_, folder);
}

std::vector<std::string> DiskTree::folders(const std::string& folder) const {
  if (const auto known = known_.find(folder); known != known_.end()) return known->second;
  std::vector<std::string> names;
  any_entry(path_of(folder), [&](int directory, const dirent& entry) {
    if (!S_ISDIR(type_of(directory, entry))) return false;
    const bool link = entry.d_type == DT_UNKNOWN || entry.d_type == DT_LNK;
    if (!link || !leads_above(join(folder, entry.d_name))) names.emplace_back(entry.d_name);
    return false;
  });
  std::sort(names.begin(), names.end());
  known_.emplace(folder, names);
  return names;
}

bool DiskTree::leads_above(const std::string& folder) const {
  struct stat status {
  }, above{};
  if (::stat(path_of(folder).c_str(), &status) != 0) return false;
  for (std::string path = folder; !path.empty();) {
    path = directory_of(path);
    if (::stat(path_of(path).c_str(), &above) == 0 && above.st_ino == status.st_ino &&
        above.st_dev == status.st_dev) {
      return true;
    }
  }
  return false;
}

bool DiskTree::holds_images(const std::string& folder, Told told) const {
  std::vector<std::string> unnamed;
  const bool named = any_entry(path_of(folder), [&](int directory, const dirent& entry) {
    if (!S_ISREG(type_of(directory, entry))) return false;
    if (naming::has_any_image_name(entry.d_name)) return true;
    if (told == Told::kByNameOrBytes) unnamed.emplace_back(entry.d_name);
    return false;
  });
  if (named || unnamed.empty()) return named;
  const UniqueFd fd = open_file(path_of(folder), O_RDONLY | O_DIRECTORY);
  return fd && std::any_of(unnamed.begin(), unnamed.end(), [&](const std::string& name) {
           return looks_like_image(fd.get(), name.c_str());
         });
}

bool DiskTree::holds_images(const std::string& folder) const {
  return holds_images(folder, Told::kByNameOrBytes);
}

bool DiskTree::holds_images_below(const std::string& folder, Told told) const {
  if (holds_images(folder, told)) return true;
  const std::vector<std::string> below = folders(folder);
  return std::any_of(below.begin(), below.end(), [&](const std::string& name) {
    return holds_images_below(join(folder, name), told);
  });
}

}  // namespace packhorse
