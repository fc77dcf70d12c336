#include "adopting/named_shards.h"

#include <algorithm>

#include "base/file.h"
#include "base/paths.h"
#include "base/printable.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/webdataset/shard_names.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

class Finder {
 public:
  NamedShards run(const std::vector<fs::path>& named) {
    for (const fs::path& path : named) add(path);
    std::ranges::sort(found_.shards, {}, &NamedShard::name);
    for (std::size_t i = 1; i < found_.shards.size(); ++i) {
      if (found_.shards[i].name() != found_.shards[i - 1].name()) continue;
      const bool same = found_.shards[i].entry == found_.shards[i - 1].entry;
      throw Error(
          ErrorKind::kUsage, same ? "a shard is given twice" : "two shards have the same file name",
          found_.shards[i].entry, same ? "give it once" : "adopt them one folder at a time");
    }
    return std::move(found_);
  }

 private:
  void add(const fs::path& named) {
    fs::path path = fs::absolute(named).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    if (!path_exists(path) && is_shard_pattern(path)) {
      const auto matching = matching_files(path.native());
      if (matching.empty())
        throw Error(ErrorKind::kNotFound, "no file matches the pattern", named, "check the path");
      for (const fs::path& one : matching) add_shard(one);
    } else if (!path_exists(path)) {
      throw Error(ErrorKind::kNotFound, "the shard does not exist", named, "check the path");
    } else if (!try_shard(path)) {
      if (!fs::is_directory(path)) refuse(path);
      add_folder(path);
    }
  }

  void add_shard(const fs::path& path) {
    if (!try_shard(path)) refuse(path);
  }

  [[noreturn]] static void refuse(const fs::path& path) {
    std::string kinds;
    for (const ForeignFormat* format : foreign_formats())
      kinds += (kinds.empty() ? "" : "; ") + std::string(format->summary);
    throw Error(ErrorKind::kUnsupported, "not a shard that packhorse can read", path,
                "it can read: " + kinds);
  }

  bool try_shard(const fs::path& path) {
    for (const ForeignFormat* format : foreign_formats()) {
      const auto data_file = format->find(path);
      if (!data_file) continue;
      if (found_.format != nullptr && found_.format != format) {
        throw Error(ErrorKind::kUsage, "the shards have different formats", path,
                    "adopt one format at a time");
      }
      if (const std::string name = path.filename(); !is_utf8(name))
        throw Error(ErrorKind::kUnsupported,
                    "the name of the shard is not UTF-8, in which the manifest names it: '" +
                        printable(name) + "'",
                    path, "rename it; a link to it in another folder will do");
      found_.format = format;
      found_.shards.push_back({path, data_file->lexically_relative(path.parent_path()).native()});
      return true;
    }
    return false;
  }

  void add_folder(const fs::path& folder) {
    const std::size_t before = found_.shards.size();
    for (const fs::directory_entry& entry : entries_in(folder)) {
      if (!naming::is_hidden(entry.path().filename().native())) try_shard(entry.path());
    }
    std::vector<std::string> names;
    for (std::size_t i = before; i < found_.shards.size(); ++i)
      names.push_back(found_.shards[i].name());
    refuse_several_sets(names, folder);
    if (names.empty()) {
      throw Error(ErrorKind::kNotFound, "the folder holds no shards", folder,
                  "give the folder of .tar, .h5 or LMDB shards, or a pattern of them in quotes; "
                  "folders of images are packed with `packhorse pack`");
    }
  }

  NamedShards found_;
};

}  // namespace

NamedShards find_named_shards(const std::vector<fs::path>& named) { return Finder().run(named); }

}  // namespace packhorse
