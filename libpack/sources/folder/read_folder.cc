#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <mutex>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "codecs/image_header.h"
#include "labels/label_rows.h"
#include "listing/field_names.h"
#include "listing/listed_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/dataset/packed_dataset.h"
#include "sources/folder/folder_items.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using naming::has_any_image_name;
using naming::join;
using Type = FolderItems::Type;

constexpr int kFolder = O_RDONLY | O_DIRECTORY;
constexpr std::size_t kMostAtOnce = 64;  // folders that a thread reads in one go

/// The folders around others, from the inside out.
struct Around {
  FolderId id;
  std::shared_ptr<const Around> outer;
};

/// A folder that is not read yet.
struct Unread {
  std::string path;  ///< in the source
  std::shared_ptr<const Around> around;
};

/// What was found in some folders.
struct Part {
  EntryTable images;
  std::vector<SourceContents::Other> others = {};
  std::vector<FieldFile> field_files = {};
  UnreadableFolders unreadable = {};
  std::vector<std::string> folders = {};
  std::vector<std::pair<FolderId, std::string>> ids = {};  ///< of all folders
  std::vector<Unread> inside = {};                         ///< folders in them
};

template <class List>
void move_to(List& from, List& to) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

/// Reads folders into a part. One thread; others may read at the same time.
class Reading {
 public:
  Reading(const fs::path& source, int root, const FolderIds& above, const FieldSet& fields,
          int threads, Part& out)
      : source_(source),
        root_(root),
        above_(above),
        fields_(fields),
        threads_(threads),
        out_(out) {}

  /// Takes the files of a folder, and adds the folders in it to `inside`.
  void read(const Unread& folder, std::vector<Unread>& inside) {
    obey_stop();
    const UniqueFd fd = open_at(root_, folder.path.empty() ? "." : folder.path.c_str(), kFolder);
    const std::optional<FolderId> id = fd ? folder_id(fd.get()) : std::nullopt;
    if (!id) return unreadable(folder.path, errno);
    FolderIds above = above_;
    for (const Around* one = folder.around.get(); one != nullptr; one = one->outer.get())
      above.insert(one->id);
    if (!above.insert(*id).second) {  // mounted below itself, or moved there since it was listed
      skip(folder.path, naming::kLoop);
      return;
    }
    FolderItems items(fd.get(), above, threads_);
    items.look_at_files(fd.get(), threads_);
    if (items.error() != 0) unreadable(folder.path, items.error());
    const std::size_t before = out_.images.size();
    take_files(fd.get(), items, folder.path);
    if (out_.images.size() == before && !folder.path.empty()) out_.folders.push_back(folder.path);
    if (!folder.path.empty()) out_.ids.emplace_back(*id, folder.path);
    const auto around = std::make_shared<const Around>(Around{*id, folder.around});
    for (const std::string& name : items.folders()) {
      std::string path = join(folder.path, name);
      if (naming::is_too_deep(join(path, "x"))) {
        out_.others.push_back({std::move(path), {}, Reason::kTooDeep});
      } else {
        inside.push_back({std::move(path), around});
      }
    }
  }

 private:
  enum class Verdict : std::uint8_t { kNone, kImage, kField, kTaken };

  void unreadable(const std::string& path, int error) {
    const bool told = error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES ||
                      error == ENAMETOOLONG;
    if (!told || path.empty()) {
      errno = error;
      throw_errno("list the folder", path.empty() ? source_ : source_ / path);
    }
    out_.folders.push_back(path);
    out_.unreadable.emplace(path, std::strerror(error));
    out_.others.push_back(
        {path,
         {},
         {Reason::kUnreadable, std::string("unreadable folder: ") + std::strerror(error)}});
  }

  void skip(std::string path, std::string_view rule) {
    out_.others.push_back({std::move(path), rule, {}});
  }

  void take_files(int fd, const FolderItems& items, const std::string& path) {
    std::vector<Verdict> verdicts(items.size(), Verdict::kNone);
    for (std::size_t i = 0; i < items.size(); ++i) verdicts[i] = judge(fd, items, i, path);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (verdicts[i] != Verdict::kImage) continue;
      EntryTable::Facts facts{
          .size = items[i].size, .stamp = items[i].stamp, .locator = items[i].inode};
      if (!take_fields(items, i, verdicts, facts)) {
        out_.others.push_back({join(path, items.name(i)), {}, Reason::kFieldsTooLarge});
      } else if (facts.size > naming::kLargestImage) {
        out_.others.push_back({join(path, items.name(i)), {}, Reason::kFileTooLarge});
      } else {
        out_.images.add(path, items.name(i), facts);
      }
    }
    for (std::size_t i = 0; i < items.size(); ++i)
      if (verdicts[i] == Verdict::kField) skip(join(path, items.name(i)), naming::kFieldAlone);
  }

  /// Records skips and rejects. A field's verdict stays open until all images are known, since only
  /// then is it known whose field it is.
  Verdict judge(int fd, const FolderItems& items, std::size_t i, const std::string& path) {
    obey_stop();
    const FolderItems::Item& item = items[i];
    const std::string_view name = items.name(i);
    const auto skipped = [&](const char* rule) {
      skip(join(path, name), rule);
      return Verdict::kNone;
    };
    if (item.type == Type::kDirectory) return Verdict::kNone;
    if (item.type == Type::kPassedOver) return skipped(naming::passed_over(name));
    if (item.type == Type::kLoop) return skipped(naming::kLoop);
    if (item.type == Type::kOther) return skipped(naming::kNotRegular);
    if (take_field_file(item, join(path, name))) return Verdict::kNone;
    if (fields_.may_be_beside(name)) return Verdict::kField;
    if (item.type == Type::kFile) {
      if (has_any_image_name(name) || naming::has_npy_name(name) ||
          looks_like_image(fd, items.c_name(i)))
        return Verdict::kImage;
      return skipped(naming::kNotAnImage);
    }
    const bool leads_nowhere = item.error == ENOENT || item.error == ELOOP;
    if (leads_nowhere && !has_any_image_name(name)) return skipped(naming::kLeadsNowhere);
    out_.others.push_back({join(path, name),
                           {},
                           leads_nowhere
                               ? Problem(Reason::kNotThere, naming::kLeadsNowhere)
                               : Problem(Reason::kUnreadable,
                                         std::string("unreadable: ") + std::strerror(item.error))});
    return Verdict::kNone;
  }

  /// Keeps a file that may be the field of an image elsewhere. A link that leads nowhere is kept,
  /// too: reading it fails, and the sample is rejected by name.
  bool take_field_file(const FolderItems::Item& item, std::string path) {
    if (!fields_.any_elsewhere() || (item.type != Type::kFile && item.type != Type::kBroken) ||
        !fields_.may_be_elsewhere(path))
      return false;
    out_.field_files.push_back({std::move(path), item.size, item.stamp});
    return true;
  }

  /// Returns false when the fields are too large.
  bool take_fields(const FolderItems& items, std::size_t image, std::vector<Verdict>& verdicts,
                   EntryTable::Facts& facts) const {
    bool fit = true;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if (fields_[f].place) continue;
      const auto found = items.find(field_file(items.name(image), fields_[f].name));
      if (!found || (verdicts[*found] != Verdict::kField && verdicts[*found] != Verdict::kTaken))
        continue;
      // A link that leads nowhere is taken, too: reading it fails, and the sample is rejected by
      // name.
      const FolderItems::Item& item = items[*found];
      verdicts[*found] = Verdict::kTaken;
      fit = facts.add_field(f, item.size) && fit;
      facts.stamp =
          mix_stamp(mix_stamp(facts.stamp, static_cast<std::uint64_t>(item.stamp)), item.size);
    }
    return fit;
  }

  const fs::path& source_;
  const int root_;
  const FolderIds& above_;  ///< the folders around the source
  const FieldSet& fields_;
  const int threads_;
  Part& out_;
};

/// Joins the parts in their order. Each is taken as soon as all before it are in; otherwise nearly
/// all of them would be held twice at the end.
class InOrder {
 public:
  InOrder(std::size_t n, Part& out) : waiting_(n), out_(out) {}

  void put(std::size_t i, Part&& part) {
    part.images.settle();  // it may wait for long
    const std::scoped_lock lock(mutex_);
    waiting_[i] = std::make_unique<Part>(std::move(part));
    while (next_ < waiting_.size() && waiting_[next_]) {
      // Taken out first: what fails half way must not be met again by another thread.
      const std::unique_ptr<Part> ready = std::move(waiting_[next_++]);
      out_.images.append(std::move(ready->images));
      move_to(ready->others, out_.others);
      move_to(ready->field_files, out_.field_files);
      move_to(ready->folders, out_.folders);
      move_to(ready->ids, out_.ids);
      move_to(ready->inside, out_.inside);
      out_.unreadable.merge(ready->unreadable);
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Part>> waiting_;
  Part& out_;
  std::size_t next_ = 0;
};

/// Pairs of paths that lead to the same folder.
std::vector<std::pair<std::string, std::string>> twins_of(
    std::vector<std::pair<FolderId, std::string>> ids) {
  std::ranges::sort(ids);
  std::vector<std::pair<std::string, std::string>> twins;
  for (std::size_t i = 1; i < ids.size(); ++i)
    if (ids[i].first == ids[i - 1].first) twins.emplace_back(ids[i - 1].second, ids[i].second);
  return twins;
}

/// The files metadata.csv and metadata.jsonl with a column file_name and a column label, as
/// Hugging Face's `imagefolder` has them; none where a folder has two.
std::map<std::string, std::string, std::less<>> metadata_in(
    const fs::path& source, const std::vector<SourceContents::Other>& others) {
  std::map<std::string, std::string, std::less<>> found;
  std::set<std::string, std::less<>> twice;
  for (const SourceContents::Other& other : others) {
    const auto [folder, name] = naming::directory_and_name(other.path);
    if (other.rule != naming::kNotAnImage || (name != "metadata.csv" && name != "metadata.jsonl") ||
        !has_label_columns(source / other.path, "file_name", "label"))
      continue;
    if (!found.emplace(folder, name).second) twice.emplace(folder);
  }
  for (const std::string& folder : twice) found.erase(folder);
  return found;
}

/// Whether packhorse has packed it: other programs write a dataset.json, too.
bool is_dataset(const fs::path& folder) {
  try {
    static_cast<void>(Manifest::load(folder));
    return true;
  } catch (const Error& error) {
    return error.kind() != ErrorKind::kCorrupt && error.kind() != ErrorKind::kNotFound;
  }
}

}  // namespace

bool looks_like_image(int folder, const char* name) {
  const UniqueFd fd = open_at(folder, name, O_RDONLY | O_NONBLOCK);
  std::array<std::byte, kSniffedBytes> head{};
  const ssize_t n =
      fd ? uninterrupted([&] { return ::read(fd.get(), head.data(), head.size()); }) : -1;
  if (n < 0) return true;
  return naming::has_image_bytes(Bytes(head).first(static_cast<std::size_t>(n)));
}

SourceContents read_folder(const fs::path& root, const FieldSet& fields,
                           const std::shared_ptr<EntryMemory>& memory) {
  const UniqueFd fd = open_file(root, kFolder);
  if (!fd) throw_errno("list the folder", root);
  FolderIds above = with_all_above(root);
  if (const auto own = folder_id(fd.get())) above.erase(*own);
  Part all{.images = EntryTable(memory)};
  const int threads = listing_threads();  // asks the system
  // Level by level: where all images lie equally deep, nothing is left to sort.
  all.inside.push_back({});
  while (!all.inside.empty()) {
    const std::vector<Unread> level = std::exchange(all.inside, {});
    const std::size_t at_once = std::clamp<std::size_t>(
        level.size() / (8 * static_cast<std::size_t>(threads)), 1, kMostAtOnce);
    const std::size_t parts = (level.size() + at_once - 1) / at_once;
    InOrder joined(parts, all);
    run_parallel(threads, parts, [&](std::size_t p) {
      Part part{.images = EntryTable(memory)};
      Reading reading(root, fd.get(), above, fields, threads, part);
      const std::size_t end = std::min(level.size(), (p + 1) * at_once);
      for (std::size_t i = p * at_once; i < end; ++i) reading.read(level[i], part.inside);
      part.images.sort_by_path();
      joined.put(p, std::move(part));
    });
  }
  all.images.sort_by_path();
  SourceContents contents;
  contents.images = std::move(all.images);
  contents.metadata = metadata_in(root, all.others);
  contents.others = std::move(all.others);
  contents.field_files = std::move(all.field_files);
  contents.unreadable = std::move(all.unreadable);
  contents.folders = std::move(all.folders);
  for (const SourceContents::Other& other : contents.others) {
    const auto [folder, name] = naming::directory_and_name(other.path);
    if (name == kManifestName && is_dataset(root / folder)) contents.datasets.emplace_back(folder);
  }
  contents.twins = twins_of(std::move(all.ids));
  return contents;
}

}  // namespace packhorse
