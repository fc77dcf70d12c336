#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "annotations/darknet_data.h"
#include "base/file.h"
#include "base/option.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/text.h"
#include "dataset/url.h"
#include "listing/listed_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/annotated/annotated_folder.h"
#include "sources/annotated/yolo_labels.h"
#include "sources/annotated/yolo_places.h"
#include "sources/folder/folder_items.h"
#include "sources/kinds.h"
#include "sources/layout/folder_roles.h"

namespace packhorse::yolo {

namespace fs = std::filesystem;

namespace {

constexpr const char* kNoLabels = "in a split without labels";
constexpr const char* kNoSplit = "in no split of the data.yaml";
constexpr std::uintmax_t kMostProbedBytes = 1 << 20;
constexpr std::uint64_t kMostListBytes = std::uint64_t{1} << 30;

constexpr const char* kData = ".data";

bool is_darknet(const fs::path& path) {
  return lower_case(path.extension().native()) == kData && is_file(path);
}

DataYaml read_data(const fs::path& file) {
  return is_darknet(file) ? read_darknet_data(file) : read_data_yaml(file);
}

/// Device and inode of a file or folder; zeros where there is none.
FolderId file_id(const fs::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

class YoloSource final : public Source {
 public:
  YoloSource(const fs::path& source, fs::path file)
      : file_(std::move(file)),
        root_(source),
        folder_(source),
        data_(read_data(file_)),
        labels_(source) {
    notes_ = data_.notes;
    places_ = find_yolo_places(data_, file_, root_, notes_);
    targets_.notation = TargetOptions::Notation::kYolo;
    targets_.classes = data_.names;
    targets_.keypoints = data_.keypoints;
    targets_.keypoint_numbers = data_.keypoint_numbers;
  }

  Listing list(const ListOptions& options) override {
    refuse_places(options, "a data.yaml names the splits, images and labels itself", file_,
                  "leave them out, or give `targets=yolo` instead of the file");
    Listing listing;
    listing.classes = options.classes.empty() ? std::vector<std::string>{LabelOptions::kUnlabelled}
                                              : options.classes;
    listing.fields = {std::string(targets_.field())};
    listing.notes = notes_;
    if (data_.has_flip_idx)
      listing.notes.emplace_back("flip_idx is not packed: give it where images are flipped");
    for (const std::string& name : data_.others)
      if (!split_named(name).empty())
        listing.notes.push_back("not read: '" + printable(name) +
                                "' in the data.yaml, where splits are called train, val and test");
    std::vector<std::string> unlabelled;  // splits
    for (const YoloPlaces& places : places_) {
      for (const std::string& list : places.lists) labels_.is_list(list);
      SplitListing split = list_split(places, options.memory);
      if (split.entries.size() == 0 && split.rejects.empty())
        throw Error(ErrorKind::kUsage, "the split " + split.split + " has no images", file_,
                    "correct its path, or leave it out of the file");
      // Rejects alone are no reason to leave a split out.
      if (split.entries.size() > 0 && !labels_.attach(split)) unlabelled.push_back(split.split);
      listing.splits.push_back(std::move(split));
    }
    refuse_twice(listing);
    labels_.check_unused(listing, walked());
    skip_others(listing);
    for (const std::string& split : unlabelled) leave_out(split, listing);
    if (listing.splits.empty()) refuse_no_labels();
    const auto count = [](std::size_t n, const char* one, const char* several) {
      return fmt::format("{} {}", n, n == 1 ? one : several);
    };
    listing.detected =
        fmt::format("YOLO: {} and {} from {}", count(data_.names.size(), "class", "classes"),
                    count(listing.splits.size(), "split", "splits"), printable(file_.native()));
    return listing;
  }

  void read(const SplitListing& split, std::size_t i, Input& out) const override {
    const EntryTable::Entry entry = split.entries[i];
    const std::string path = naming::join(split.origin, entry.path);
    out.image = {};
    out.fields = 0;
    folder_.read_image(path, entry.size, out);
    if (entry.fields == 0) return;
    if (out.extras.empty()) out.extras.emplace_back();
    Input::Extra& labels = out.extras[out.fields++];
    labels.field = 0;
    const std::string file = yolo_labels_path(path);
    folder_.read_unlisted(file, labels.bytes, ListedFolder::Links::kInside);
    if (labels.bytes.size() != entry.field_bytes)
      throw Error(ErrorKind::kIo, "its labels changed their size since they were listed",
                  root_ / file);
  }

  bool prefetch(const SplitListing& split, std::size_t i) const override {
    const std::string path = naming::join(split.origin, split.entries.path_of(i));
    const bool slow = folder_.prefetch(path);
    return (split.entries.facts(i).fields != 0 && folder_.prefetch(yolo_labels_path(path))) || slow;
  }

  TargetOptions own_targets() const override { return targets_; }
  bool images_are_files() const override { return true; }

 private:
  SplitListing list_split(const YoloPlaces& places,
                          const std::shared_ptr<EntryMemory>& memory) const {
    SplitListing split;
    split.split = places.split;
    split.entries = EntryTable(memory);
    const bool one_folder = places.folders.size() == 1 && places.lists.empty();
    if (one_folder) split.origin = places.folders.front();
    const UniqueFd root = open_file(root_, O_RDONLY | O_DIRECTORY);
    if (!root) throw_errno("open", root_);
    for (const std::string& folder : places.folders)
      add_folder(folder, one_folder ? "" : folder, memory, split);
    std::set<std::string> there;
    for (std::size_t i = 0; i < split.entries.size() && !places.lists.empty(); ++i)
      there.insert(split.entries.path_of(i));
    for (const std::string& list : places.lists) add_list(list, root.get(), there, split);
    split.entries.sort_by_path();
    return split;
  }

  /// Adds what is in a folder, by its paths below `prefix`.
  void add_folder(const std::string& folder, const std::string& prefix,
                  const std::shared_ptr<EntryMemory>& memory, SplitListing& split) const {
    const UniqueFd fd = open_file(root_ / folder, O_RDONLY | O_DIRECTORY);
    if (!fd && errno == EACCES) {
      split.rejects.push_back(
          {printable(prefix),
           {Reason::kUnreadable, std::string("unreadable folder: ") + std::strerror(EACCES)}});
      return;
    }
    SourceContents found = read_folder(root_ / folder, {}, memory);
    for (std::size_t i = 0; i < found.images.size() && !prefix.empty(); ++i) {
      const std::string path = naming::join(prefix, found.images.path_of(i));
      const auto [directory, name] = naming::directory_and_name(path);
      split.entries.add(directory, name, found.images.facts(i));
    }
    if (prefix.empty()) split.entries.append(std::move(found.images));
    for (const SourceContents::Other& other : found.others) {
      const std::string path = printable(naming::join(prefix, other.path));
      if (other.rule.empty()) {
        split.rejects.push_back({path, other.problem});
      } else {
        split.skips.push_back({path, other.rule});
      }
    }
  }

  /// Adds the images that a .txt names, a path a line.
  void add_list(const std::string& list, int root, std::set<std::string>& there,
                SplitListing& split) const {
    std::error_code code;
    if (fs::file_size(root_ / list, code) > kMostListBytes)
      throw Error(ErrorKind::kUsage, "the list of images is larger than 1 GiB", root_ / list,
                  "divide it");
    const std::vector<std::byte> bytes = read_file(root_ / list);
    TextLines lines(as_text(bytes), root_ / list);
    for (std::string_view line; lines.next(line);) {
      const std::size_t number = lines.number();
      while (line.ends_with(' ')) line.remove_suffix(1);
      if (line.empty()) continue;
      if (line.find("://") != std::string_view::npos)
        throw Error(ErrorKind::kUsage,
                    fmt::format("line {} is a URL: {}", number, harmless_url(line)), root_ / list,
                    "copy the images to a disk, and name them by their paths");
      const auto reject = [&](const Problem& why) {
        split.rejects.push_back(
            {printable(line),
             {why.code, fmt::format("line {} of {}: {}", number, printable(list), why.text)}});
      };
      const auto path = path_of_line(list, line);
      if (!path) {
        reject({Reason::kBadPath, "its path leads out of the source"});
        continue;
      }
      if (!there.insert(*path).second) {
        reject({Reason::kRepeated, "the image is in the split already"});
        continue;
      }
      struct stat status = {};
      if (::fstatat(root, path->c_str(), &status, 0) != 0) {
        reject({errno == ENOENT ? Reason::kNotThere : Reason::kUnreadable, std::strerror(errno)});
        continue;
      }
      if (!S_ISREG(status.st_mode)) {
        reject(Reason::kNotRegular);
        continue;
      }
      const auto [folder, name] = naming::directory_and_name(*path);
      split.entries.add(folder, name,
                        {.size = static_cast<std::uint64_t>(status.st_size),
                         .stamp = stamp_of(status),
                         .locator = status.st_ino});
    }
  }

  /// Lines that begin with "./" are relative to the list's folder, others to the source.
  std::optional<std::string> path_of_line(const std::string& list, std::string_view line) const {
    if (line.find('\0') != std::string_view::npos) return std::nullopt;
    const fs::path root = fs::absolute(root_);
    const bool beside = line.starts_with("./");
    std::string path(line);
    const auto is_there = [&] { return path_exists(root / path); };
    if (line.find('\\') != std::string_view::npos && !is_there())
      std::ranges::replace(path, '\\', '/');
    if (const std::string inner(without_data_folder(path));
        data_.darknet && !inner.empty() && !is_there())
      path = inner;
    return path_inside(root, beside ? root / naming::directory_of(list) : root, path);
  }

  /// The folders that were looked through for images.
  std::vector<std::string> walked() const {
    std::vector<std::string> folders;
    for (const YoloPlaces& places : places_)
      folders.insert(folders.end(), places.folders.begin(), places.folders.end());
    return folders;
  }

  /// Skips what lies in the source and in no split. Files and folders are known by their numbers,
  /// since links may lead to them.
  void skip_others(Listing& listing) const {
    FolderIds known = {file_id(file_)};
    std::set<std::uint64_t> listed;  // inodes of images
    for (std::size_t i = 0; i < places_.size(); ++i) {
      for (const std::string& folder : places_[i].folders) known.insert(file_id(root_ / folder));
      for (const std::string& list : places_[i].lists) known.insert(file_id(root_ / list));
      const EntryTable& entries = listing.splits[i].entries;
      for (std::size_t n = 0; n < entries.size() && !places_[i].lists.empty(); ++n)
        listed.insert(entries.facts(n).locator);
    }
    if (known.contains(file_id(root_))) return;  // all of it was looked through
    FolderIds label_folders;
    for (const std::string& folder : labels_.folders())
      label_folders.insert(file_id(root_ / folder));
    std::map<std::string, FolderId, std::less<>> ids;  // of folders
    const auto id_of = [&](std::string_view folder) {
      const auto [one, is_new] = ids.try_emplace(std::string(folder));
      if (is_new) one->second = file_id(root_ / folder);
      return one->second;
    };
    const auto is_known = [&](const std::string& path) {
      std::string_view folder = naming::directory_of(path);
      if (YoloLabels::is_label_name(path) && label_folders.contains(id_of(folder))) return true;
      for (; !folder.empty(); folder = naming::directory_of(folder))
        if (known.contains(id_of(folder))) return true;
      const FolderId id = file_id(root_ / path);
      return id != FolderId() && (known.contains(id) || listed.contains(id.second));
    };
    const SourceContents all = read_folder(root_, {}, nullptr);
    const auto skip = [&](const std::string& path, std::string_view rule) {
      if (!is_known(path)) listing.skips.push_back({printable(path), rule});
    };
    for (std::size_t i = 0; i < all.images.size(); ++i) skip(all.images.path_of(i), kNoSplit);
    for (const SourceContents::Other& other : all.others)
      skip(other.path, naming::is_outside_rule(other.rule) ? other.rule : kNoSplit);
  }

  /// A test split may have no labels; any other must.
  void leave_out(const std::string& name, Listing& listing) const {
    const auto place = std::ranges::find(listing.splits, name, &SplitListing::split);
    const SplitListing& split = *place;
    if (!split.rejects.empty()) {
      const Reject& first = split.rejects.front();
      throw Error(ErrorKind::kUsage,
                  fmt::format("none of the images of the split {} has labels, and {} of its inputs "
                              "cannot be packed: {}: {}",
                              name, split.rejects.size(),
                              naming::join(printable(split.origin), first.path), first.reason),
                  file_, "mend that, or leave the split out of the file");
    }
    if (name != "test") refuse_no_labels();
    for (std::size_t i = 0; i < split.entries.size(); ++i)
      listing.skips.push_back(
          {printable(naming::join(split.origin, split.entries.path_of(i))), kNoLabels});
    for (const Skip& skip : split.skips)
      listing.skips.push_back({naming::join(printable(split.origin), skip.path), skip.rule});
    listing.notes.push_back("the split test is left out: none of its images has labels");
    listing.splits.erase(place);
  }

  [[noreturn]] void refuse_no_labels() const {
    throw Error(ErrorKind::kUsage, "none of the images has labels: " + labels_.missing(), file_,
                "put the labels there, a .txt for each image that has objects; or pack the images "
                "alone: `source_kind=folder`");
  }

  /// Refuses an image that is in two splits.
  void refuse_twice(const Listing& listing) const {
    std::set<std::string> there;
    for (const SplitListing& split : listing.splits) {
      for (std::size_t i = 0; i < split.entries.size(); ++i) {
        const std::string path = naming::join(split.origin, split.entries.path_of(i));
        if (!there.insert(path).second)
          throw Error(ErrorKind::kUsage, "two splits hold the same image, " + printable(path),
                      file_, "let each image be in one split");
      }
    }
  }

  fs::path file_, root_;
  ListedFolder folder_;
  DataYaml data_;
  std::vector<YoloPlaces> places_;
  TargetOptions targets_;
  std::vector<std::string> notes_;
  YoloLabels labels_;
};

bool is_data_file(const fs::path& path) {
  const std::string extension = lower_case(path.extension().native());
  return ((extension == ".yaml" || extension == ".yml") && is_file(path)) || is_darknet(path);
}

/// The data.yaml of a folder, or else the one obj.data in it.
fs::path data_in(const fs::path& folder) {
  fs::path yaml = folder / "data.yaml";
  if (is_data_file(yaml)) return yaml;
  fs::path darknet = folder / "obj.data";
  return is_data_file(darknet) ? darknet : yaml;
}

/// The folder that the paths in the file are relative to: the file's own, unless the file names
/// another one.
fs::path root_of(const fs::path& file) {
  fs::path folder = folder_around(file);
  const std::string named = read_data(file).path;
  const fs::path root = fs::absolute(folder);
  if (named.empty() || path_inside(root, root, named) || !is_folder(root / named)) return folder;
  const std::string there = (root / named).lexically_normal().native();
  throw Error(ErrorKind::kUsage,
              "its path, '" + printable(named) + "', is not in the folder that it lies in", file,
              "if the images are to be read from there, name it: " +
                  call({"pack", {there, "OUT"}, {{"targets", "yolo:" + file.native()}}}));
}

/// Whether a file has lines for a split and for the names of classes, as only YOLO's have both, be
/// it correct or not.
bool names_splits_and_classes(const fs::path& file) {
  std::error_code code;
  if (fs::file_size(file, code) > kMostProbedBytes || code) return false;
  const std::string text = "\n" + read_text(file);
  const auto has = [&](const char* line) { return text.find(line) != std::string::npos; };
  return has("\nnames") && (has("\ntrain") || has("\nval") || has("\ntest"));
}

bool has_folder(const fs::path& folder, const char* name) { return is_folder(folder / name); }

bool has_images_and_labels(const fs::path& folder) {
  return has_folder(folder, "images") && has_folder(folder, "labels");
}

}  // namespace

bool probe(const fs::path& path, FolderLook& look) {
  if (is_data_file(path)) return true;
  if (!is_data_file(data_in(path))) return false;
  if (is_darknet(data_in(path)) || names_splits_and_classes(data_in(path))) return true;
  if (has_images_and_labels(path)) return true;
  bool found = false;
  look.look_in(path, [&](const fs::directory_entry& entry) {
    found = has_images_and_labels(entry.path());
    return !found;
  });
  return found;
}

std::unique_ptr<Source> open(const fs::path& path) {
  return is_data_file(path) ? open(root_of(path), path) : open(path, data_in(path));
}

std::unique_ptr<Source> open(const fs::path& source, const fs::path& data) {
  if (path_exists(source) && !is_folder(source))
    throw Error(ErrorKind::kUsage, "with `targets=yolo:FILE` the source is a folder of images",
                source, "give the folder, or the data.yaml as the source, without `targets=`");
  return std::make_unique<YoloSource>(source, data);
}

}  // namespace packhorse::yolo
