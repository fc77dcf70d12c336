#include "source_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>

#include "naming.h"
#include "packhorse/error.h"
#include "packhorse/file.h"
#include "packhorse/image_info.h"

namespace packhorse::folder {

namespace fs = std::filesystem;

namespace {

using naming::has_image_name;
using naming::join;
using naming::kHidden;
using naming::kNotAnImage;
using naming::kNotRegular;
using naming::kOutsideSplits;

constexpr const char* kLoop = "a link to a folder above it";

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

enum class Type { kDirectory, kFile, kOther, kBroken };

struct Found {
  std::string name;
  Type type = Type::kOther;
  struct stat status {};
};

/// What a directory holds, by name. Throws nothing: `error` is errno when it cannot be read.
std::vector<Found> read_directory(int fd, int& error) {
  std::vector<Found> found;
  error = 0;
  const Directory directory(::fdopendir(::dup(fd)));
  if (!directory) {
    error = errno;
    return found;
  }
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    Found item;
    item.name = name;
    if (name.front() != '.') {
      if (::fstatat(fd, entry->d_name, &item.status, 0) != 0) {
        item.type = Type::kBroken;
      } else if (S_ISDIR(item.status.st_mode)) {
        item.type = Type::kDirectory;
      } else if (S_ISREG(item.status.st_mode)) {
        item.type = Type::kFile;
      }
    }
    found.push_back(std::move(item));
  }
  error = errno;
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.name < b.name; });
  return found;
}

/// Walks one split's root and fills its listing.
class Walk {
 public:
  explicit Walk(SplitListing& out) : out_(out) {}

  /// An open folder above the class folders: a link to it is a loop too.
  void start_below(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) == 0) above_.emplace(status.st_dev, status.st_ino);
  }

  void class_folder(int parent, const std::string& name, std::int64_t label) {
    folder(parent, name, name, label);
  }

  void file_without_class(int parent, const Found& item) {
    if (const char* rule = rule_to_skip(parent, item)) {
      out_.skips.push_back({as_utf8(item.name), rule});
    } else {
      out_.rejects.push_back({as_utf8(item.name), naming::kNoClassFolder});
    }
  }

 private:
  void folder(int parent, const std::string& name, const std::string& path, std::int64_t label) {
    const UniqueFd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat status {};
    int error = errno;
    std::vector<Found> items;
    if (fd && ::fstat(fd.get(), &status) == 0) items = read_directory(fd.get(), error);
    if (!fd || error != 0) {
      out_.rejects.push_back(
          {as_utf8(path), std::string("unreadable folder: ") + std::strerror(error)});
      if (!fd) return;
    }
    const auto identity = std::pair(status.st_dev, status.st_ino);
    if (!above_.insert(identity).second) {
      out_.skips.push_back({as_utf8(path), kLoop});
      return;
    }
    for (const Found& item : items) {
      if (item.type != Type::kDirectory) file(fd.get(), path, item, label);
    }
    for (const Found& item : items) {
      if (item.type == Type::kDirectory) folder(fd.get(), item.name, join(path, item.name), label);
    }
    above_.erase(identity);
  }

  void file(int parent, const std::string& directory, const Found& item, std::int64_t label) {
    if (item.type == Type::kBroken && has_image_name(item.name)) {
      out_.rejects.push_back({as_utf8(join(directory, item.name)), "a link that leads nowhere"});
    } else if (const char* rule = rule_to_skip(parent, item)) {
      out_.skips.push_back({as_utf8(join(directory, item.name)), rule});
    } else {
      const auto& time = item.status.st_mtim;
      out_.entries.add(directory, item.name,
                       {.size = static_cast<std::uint64_t>(item.status.st_size),
                        .stamp = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec,
                        .locator = item.status.st_ino,
                        .label = label});
    }
  }

  static const char* rule_to_skip(int parent, const Found& item) {
    if (item.name.front() == '.') return kHidden;
    if (item.type != Type::kFile) return item.type == Type::kBroken ? kNotAnImage : kNotRegular;
    if (has_image_name(item.name)) return nullptr;
    const UniqueFd fd(::openat(parent, item.name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    std::array<std::byte, 16> head{};
    const ssize_t n = fd ? ::read(fd.get(), head.data(), head.size()) : -1;
    // Unreadable: taken as an entry, so that it is rejected by name when it is packed, not lost.
    if (n < 0) return nullptr;
    const Bytes bytes = Bytes(head).first(static_cast<std::size_t>(n));
    return sniff_image(bytes) == ImageKind::kUnknown ? kNotAnImage : nullptr;
  }

  SplitListing& out_;
  std::set<std::pair<dev_t, ino_t>> above_;
};

class FolderSource final : public Source {
 public:
  explicit FolderSource(fs::path root) : root_(std::move(root)) {}

  Listing list(const ListOptions& options) override {
    Listing listing;
    const UniqueFd root(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root) throw_errno("open the source folder", root_);
    const std::vector<Found> top = items_of(root.get(), root_);
    const std::vector<std::string> splits = naming::split_folders(directories(top));
    if (splits.empty()) {
      listing.classes = class_names(options, {directories(top)});
      fill(listing, "", root.get(), root.get(), top);
    } else {
      std::vector<std::vector<std::string>> class_folders;
      for (const std::string& split : splits) {
        const UniqueFd fd(::openat(root.get(), split.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!fd) throw_errno("open the split folder", root_ / split);
        class_folders.push_back(directories(items_of(fd.get(), root_ / split)));
      }
      listing.classes = class_names(options, class_folders);
      for (const std::string& split : splits) {
        const UniqueFd fd(::openat(root.get(), split.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!fd) throw_errno("open the split folder", root_ / split);
        fill(listing, split, root.get(), fd.get(), items_of(fd.get(), root_ / split));
      }
      for (const Found& item : top) {
        if (item.name.front() == '.') {
          listing.skips.push_back({as_utf8(item.name), kHidden});
        } else if (item.type != Type::kDirectory) {
          listing.skips.push_back({as_utf8(item.name), kOutsideSplits});
        }
      }
    }
    naming::refuse_empty(listing, root_,
                         "packhorse expects a folder of class folders: SOURCE/<class>/<image>");
    return listing;
  }

  void read(const SplitListing& split, std::size_t i, Input& out) const override {
    const EntryTable::Entry entry = split.entries[i];
    const fs::path path =
        split.split.empty() ? root_ / entry.path : root_ / split.split / entry.path;
    const UniqueFd fd = open_for_reading(path);
    if (file_size(fd.get(), path) != entry.size) {
      throw Error(ErrorKind::kIo, "changed its size since it was listed", path);
    }
    out.bytes.resize(entry.size);
    read_exactly(fd.get(), 0, out.bytes, path);
    if (file_size(fd.get(), path) != entry.size) {
      throw Error(ErrorKind::kIo, "changed its size since it was listed", path);
    }
  }

 private:
  static std::vector<Found> items_of(int fd, const fs::path& path) {
    int error = 0;
    std::vector<Found> items = read_directory(fd, error);
    if (error != 0) {
      errno = error;
      throw_errno("list the folder", path);
    }
    return items;
  }

  static std::vector<std::string> directories(const std::vector<Found>& items) {
    std::vector<std::string> names;
    for (const Found& item : items) {
      if (item.type == Type::kDirectory) names.push_back(item.name);
    }
    return names;
  }

  std::vector<std::string> class_names(const ListOptions& options,
                                       const std::vector<std::vector<std::string>>& folders) const {
    std::set<std::string> found;
    for (const std::vector<std::string>& names : folders) found.insert(names.begin(), names.end());
    return naming::class_names(options.classes, found, root_);
  }

  static void fill(Listing& listing, const std::string& split, int root, int fd,
                   const std::vector<Found>& items) {
    const auto labels = naming::labels_of(listing.classes);
    SplitListing& out = listing.splits.emplace_back();
    out.split = split;
    Walk walk(out);
    walk.start_below(root);
    walk.start_below(fd);
    for (const Found& item : items) {
      if (item.type == Type::kDirectory) {
        walk.class_folder(fd, item.name, labels.at(item.name));
      } else {
        walk.file_without_class(fd, item);
      }
    }
    out.entries.sort_by_path();
  }

  fs::path root_;
};

}  // namespace

bool probe(const fs::path& path) {
  std::error_code code;
  return fs::is_directory(path, code);
}

std::unique_ptr<Source> open(const fs::path& path) { return std::make_unique<FolderSource>(path); }

}  // namespace packhorse::folder
