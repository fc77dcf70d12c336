#include "sources/annotated/yolo_labels.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "annotations/data_yaml.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/printable.h"
#include "base/text.h"
#include "listing/listed_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/annotated/annotated_folder.h"
#include "sources/folder_look.h"

namespace packhorse {

namespace {

constexpr const char* kNoImage = "labels of no image that is packed";
constexpr const char* kTxt = ".txt";
constexpr std::int64_t kMostBytes = std::int64_t{1} << 31;

std::uint64_t hash_of(const std::string& path) { return xxh3(as_bytes(path)); }

bool holds(const std::vector<std::uint64_t>& sorted, std::uint64_t hash) {
  return std::binary_search(sorted.begin(), sorted.end(), hash);
}

/// Whether a folder is one of `others`, or lies in one of them.
bool is_in(std::string_view folder, const std::vector<std::string>& others) {
  return std::ranges::any_of(
      others, [&](const std::string& other) { return naming::lies_in(folder, other); });
}

std::string image_path(const SplitListing& split, std::size_t i) {
  return naming::join(split.origin, split.entries.path_of(i));
}

/// Whether an image has no labels. Where they cannot be reached, or are a link that leads nowhere,
/// it may well have some.
bool is_absent(int error, int root, const std::string& path) {
  struct stat link = {};
  return (error == ENOENT || error == ENOTDIR) &&
         ::fstatat(root, path.c_str(), &link, AT_SYMLINK_NOFOLLOW) != 0;
}

std::string beside(const std::string& image) {
  const std::size_t dot = image.rfind('.');
  return image.substr(0, dot) + kTxt;
}

}  // namespace

void YoloLabels::refuse_beside(int root, const std::string& image, const std::string& path) const {
  const std::string other = beside(image);
  struct stat status = {};
  if (other == path || lists_.contains(other) || ::fstatat(root, other.c_str(), &status, 0) != 0 ||
      !S_ISREG(status.st_mode))
    return;
  throw Error(ErrorKind::kUsage,
              fmt::format("the image {} has no labels at {}, but there is {} beside it",
                          printable(image), printable(path), printable(other)),
              root_, "move the labels of all images to where those of others are, or remove them");
}

bool YoloLabels::attach(SplitListing& split) {
  const UniqueFd root = open_file(root_, O_RDONLY | O_DIRECTORY);
  if (!root) throw_errno("open", root_);
  bool any = false;
  split.entries.revise([&](std::size_t i, EntryTable::Facts& facts) {
    const std::string image = image_path(split, i);
    const std::string path = yolo_labels_path(image);
    if (!folders_.contains(naming::directory_of(path)))
      folders_.emplace(naming::directory_of(path));
    wanted_.push_back(hash_of(path));
    struct stat status = {};
    const int error = ::fstatat(root.get(), path.c_str(), &status, 0) != 0 ? errno : 0;
    if (is_absent(error, root.get(), path)) {
      refuse_beside(root.get(), image, path);
      absent_.push_back(hash_of(lower_case(path)));
      if (missing_.empty())
        missing_ = "for " + printable(image) + " they would be " + printable(path);
      return true;
    }
    any = true;
    if (error != 0 || !S_ISREG(status.st_mode) || status.st_size > kMostBytes) {
      split.rejects.push_back(
          {printable(split.entries.path_of(i)),
           {Reason::kUnreadable, error == 0 ? "its labels are no file that can be read"
                                            : fmt::format("its labels, {}: {}", printable(path),
                                                          std::strerror(error))}});
      return false;
    }
    facts.fields = 1;
    facts.field_bytes = static_cast<std::uint32_t>(status.st_size);
    facts.stamp = mix_stamp(mix_stamp(facts.stamp, static_cast<std::uint64_t>(stamp_of(status))),
                            static_cast<std::uint64_t>(status.st_size));
    return true;
  });
  return any;
}

void YoloLabels::is_list(const std::string& path) {
  wanted_.push_back(hash_of(path));
  lists_.insert(path);
}

bool YoloLabels::is_label_name(std::string_view path) { return lower_case(path).ends_with(kTxt); }

void YoloLabels::check_unused(Listing& listing, const std::vector<std::string>& walked) {
  std::ranges::sort(wanted_);
  std::ranges::sort(absent_);
  std::map<std::uint64_t, std::string> misnamed;  // by the hash in lower case
  for (const std::string& folder : folders_) {
    for (const std::string& name : FolderLook().files_in(root_ / folder)) {
      const std::string path = naming::join(folder, name);
      const std::string lower = lower_case(path);
      if (!lower.ends_with(kTxt) || holds(wanted_, hash_of(path))) continue;
      if (!is_in(folder, walked)) listing.skips.push_back({printable(path), kNoImage});
      if (holds(absent_, hash_of(lower))) misnamed.emplace(hash_of(lower), path);
    }
  }
  wanted_ = {};
  absent_ = {};
  if (misnamed.empty()) return;
  for (SplitListing& split : listing.splits) {
    split.entries.revise([&](std::size_t i, const EntryTable::Facts& facts) {
      const std::string path = yolo_labels_path(image_path(split, i));
      const auto file = misnamed.find(hash_of(lower_case(path)));
      if (facts.fields != 0 || file == misnamed.end()) return true;
      split.rejects.push_back(
          {printable(split.entries.path_of(i)),
           {Reason::kNoAnnotation, fmt::format("its labels would be {}, and there is {}",
                                               printable(path), printable(file->second))}});
      return false;
    });
  }
}

}  // namespace packhorse
