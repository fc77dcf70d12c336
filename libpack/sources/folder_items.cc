#include "sources/folder_items.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "parallel.h"
#include "sources/listed_file.h"
#include "sources/naming.h"

namespace packhorse {

namespace {

constexpr std::size_t kSlice = 1024;  ///< files a thread looks at in one go

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

FolderItems::FolderItems(int fd, int threads) {
  read_names(fd);
  std::sort(items_.begin(), items_.end(), [this](const Item& a, const Item& b) {
    const std::string_view names = names_;
    return names.substr(a.name, a.length) < names.substr(b.name, b.length);
  });
  const std::size_t slices = (items_.size() + kSlice - 1) / kSlice;
  run_parallel(slices < 4 ? 1 : threads, slices, [&](std::size_t slice) {
    const std::size_t end = std::min(items_.size(), (slice + 1) * kSlice);
    for (std::size_t i = slice * kSlice; i < end; ++i) look_at(fd, items_[i]);
  });
}

void FolderItems::read_names(int fd) {
  const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(::dup(fd)));
  if (!directory) {
    error_ = errno;
    return;
  }
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    Item& item = items_.emplace_back();
    item.name = names_.size();
    item.length = static_cast<std::uint32_t>(name.size());
    item.type = naming::passed_over(name) != nullptr ? Type::kPassedOver
                : entry->d_type == DT_DIR            ? Type::kDirectory
                                                     : Type::kOther;
    names_.append(name.data(), name.size() + 1);
  }
  error_ = errno;
}

void FolderItems::look_at(int fd, Item& item) const {
  if (item.type != Type::kOther) return;
  struct stat status {};
  if (::fstatat(fd, names_.c_str() + item.name, &status, 0) != 0) {
    item.error = errno;
    item.type = Type::kBroken;
    return;
  }
  if (S_ISDIR(status.st_mode)) item.type = Type::kDirectory;
  if (S_ISREG(status.st_mode)) item.type = Type::kFile;
  item.size = static_cast<std::uint64_t>(status.st_size);
  item.inode = status.st_ino;
  item.stamp = stamp_of(status);
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
