#include "sources/folder/folder_items.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/file.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "listing/listed_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

using Type = FolderItems::Type;

constexpr std::size_t kSlice = 1024;  ///< files a thread looks at in one go

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

Type type_of(const dirent& entry) {
  if (naming::passed_over(entry.d_name) != nullptr) return Type::kPassedOver;
  switch (entry.d_type) {
    case DT_DIR:
      return Type::kDirectory;
    case DT_REG:
      return Type::kFile;
    case DT_LNK:
    case DT_UNKNOWN:
      return Type::kUnknown;
    default:
      return Type::kOther;
  }
}

}  // namespace

std::optional<FolderId> folder_id(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return std::nullopt;
  return FolderId(status.st_dev, status.st_ino);
}

FolderIds with_all_above(const std::filesystem::path& folder) {
  FolderIds ids;
  UniqueFd at = open_file(folder, O_PATH | O_DIRECTORY);
  while (at) {
    const std::optional<FolderId> id = folder_id(at.get());
    if (!id) break;
    if (!ids.insert(*id).second) return ids;  // the topmost is its own parent
    at = open_at(at.get(), "..", O_PATH | O_DIRECTORY);
  }
  if (errno == EACCES) return ids;
  throw_errno("inspect the folders above", folder);
}

int read_directory(int fd, const std::function<bool(const char*, Type)>& visit) {
  const std::unique_ptr<DIR, CloseDirectory> directory(
      ::fdopendir(::fcntl(fd, F_DUPFD_CLOEXEC, 0)));
  if (!directory) return errno;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) return errno;
    const std::string_view name = entry->d_name;
    obey_stop();
    if (name != "." && name != ".." && !visit(entry->d_name, type_of(*entry))) return 0;
  }
}

void look_at(int fd, const char* name, const FolderIds& above, FolderItems::Item& item) {
  item.looked_at = true;
  struct stat status {};
  if (::fstatat(fd, name, &status, 0) != 0) {
    item.error = errno;
    item.type = Type::kBroken;
    return;
  }
  item.type = S_ISREG(status.st_mode) ? Type::kFile : Type::kOther;
  if (S_ISDIR(status.st_mode)) {
    const bool loop = above.contains({status.st_dev, status.st_ino});
    item.type = loop ? Type::kLoop : Type::kDirectory;
  }
  item.size = static_cast<std::uint64_t>(status.st_size);
  item.inode = status.st_ino;
  item.stamp = stamp_of(status);
}

FolderItems::FolderItems(int fd, const FolderIds& above, int threads) {
  error_ = read_directory(fd, [&](const char* name, Type type) {
    Item& item = items_.emplace_back();
    item.name = names_.size();
    names_ += name;
    item.length = static_cast<std::uint32_t>(names_.size() - item.name);
    item.type = type;
    names_ += '\0';
    return true;
  });
  std::ranges::sort(items_, [this](const Item& a, const Item& b) {
    const std::string_view names = names_;
    return names.substr(a.name, a.length) < names.substr(b.name, b.length);
  });
  look_at_some(fd, above, threads, Type::kUnknown);
}

void FolderItems::look_at_files(int fd, int threads) { look_at_some(fd, {}, threads, Type::kFile); }

/// Looks at the items of type `wanted`.
void FolderItems::look_at_some(int fd, const FolderIds& above, int threads, Type wanted) {
  const int jobs = items_.size() <= 3 * kSlice ? 1 : threads;
  run_batches(jobs, items_.size(), kSlice, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (items_[i].type == wanted && !items_[i].looked_at)
        look_at(fd, c_name(i), above, items_[i]);
    }
  });
}

std::optional<std::size_t> FolderItems::find(std::string_view wanted) const {
  const auto at = std::lower_bound(
      items_.begin(), items_.end(), wanted, [this](const Item& item, std::string_view text) {
        return std::string_view(names_).substr(item.name, item.length) < text;
      });
  const auto i = static_cast<std::size_t>(at - items_.begin());
  return at != items_.end() && name(i) == wanted ? std::optional(i) : std::nullopt;
}

std::vector<std::string> FolderItems::folders() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < size(); ++i) {
    if (items_[i].type == Type::kDirectory) names.emplace_back(name(i));
  }
  return names;
}

}  // namespace packhorse
