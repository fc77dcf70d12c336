#include "sources/archive_layout.h"

#include <algorithm>

#include "packhorse/error.h"
#include "packhorse/printable.h"
#include "sources/label_file.h"
#include "sources/naming.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLevels = 3;  // one around everything, split, class

/// The first component, and what follows it ("" when nothing does).
std::pair<std::string_view, std::string_view> cut_first(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return {path, {}};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

bool in_folder(std::string_view path) { return path.find('/') != std::string_view::npos; }

/// The folders right in `parent` ("" = the archive).
std::vector<std::string> folders_in(const std::set<std::string>& folders,
                                    const std::string& parent) {
  const std::string prefix = parent.empty() ? "" : parent + '/';
  std::vector<std::string> names;
  for (auto it = folders.lower_bound(prefix); it != folders.end() && it->starts_with(prefix);
       ++it) {
    const std::string_view rest = std::string_view(*it).substr(prefix.size());
    if (!rest.empty() && !in_folder(rest)) names.emplace_back(rest);
  }
  return names;
}

class Layout {
 public:
  Layout(const ArchiveContents& contents, const ListOptions& options, fs::path source)
      : contents_(contents), options_(options), source_(std::move(source)) {}

  Listing run() {
    around_ = folder_around();
    splits_ = naming::split_folders(folders_in(contents_.folders, around_));
    std::optional<LabelFile> labels;
    if (!options_.labels.empty()) labels.emplace(options_.labels, options_.classes);
    anywhere_ = labels.has_value();
    listing_.classes = labels ? labels->classes()
                              : naming::class_names(options_.classes, class_folders(), source_);
    labels_ = naming::labels_of(listing_.classes);
    if (splits_.empty()) {
      listing_.splits.emplace_back();
    } else {
      for (const std::string& split : splits_) listing_.splits.emplace_back().split = split;
    }
    for (std::size_t i = 0; i < contents_.images.size(); ++i) place_image(i);
    for (const ArchiveContents::Other& other : contents_.others) place_other(other);
    for (const Reject& reject : contents_.outside) {
      listing_.splits.front().rejects.push_back({printable(reject.path), reject.reason});
    }
    for (SplitListing& split : listing_.splits) split.entries.sort_by_path();
    if (labels) apply_labels(*labels, listing_);
    return std::move(listing_);
  }

 private:
  /// The one folder around everything, or nothing.
  std::string folder_around() const {
    const std::vector<std::string> top = folders_in(contents_.folders, "");
    if (top.size() != 1 || contents_.images.size() == 0) return {};
    if (!naming::split_folders(top).empty()) return {};
    for (std::size_t i = 0; i < contents_.images.size(); ++i) {
      const std::string path = contents_.images.path_of(i);
      if (!in_folder(cut_first(path).second)) return {};
    }
    return top.front();
  }

  std::set<std::string> class_folders() const {
    std::set<std::string> found;
    const auto add = [&](const std::string& parent) {
      for (std::string& name : folders_in(contents_.folders, parent)) found.insert(std::move(name));
    };
    if (splits_.empty()) add(around_);
    for (const std::string& split : splits_) add(naming::join(around_, split));
    return found;
  }

  std::string_view without_around(std::string_view path) const {
    const auto [first, rest] = cut_first(path);
    return !around_.empty() && first == around_ && !rest.empty() ? rest : path;
  }

  /// The split a path belongs to, which is taken off it; null for one outside of all.
  SplitListing* split_of(std::string_view& path) {
    path = without_around(path);
    if (splits_.empty()) return &listing_.splits.front();
    const auto [first, rest] = cut_first(path);
    const auto split = std::find(splits_.begin(), splits_.end(), first);
    if (split == splits_.end() || rest.empty()) return nullptr;
    path = rest;
    return &listing_.splits[static_cast<std::size_t>(split - splits_.begin())];
  }

  void place_image(std::size_t i) {
    EntryTable::Entry entry = contents_.images[i];
    std::string_view path = entry.path;
    SplitListing* split = split_of(path);
    if (split == nullptr) {
      listing_.skips.push_back({printable(path), naming::kOutsideSplits});
    } else if (!in_folder(path) && !anywhere_) {
      split->rejects.push_back({printable(path), naming::kNoClassFolder});
    } else {
      entry.label = anywhere_ ? 0 : labels_.at(std::string(cut_first(path).first));
      const std::size_t slash = path.rfind('/');
      const bool top = slash == std::string_view::npos;
      split->entries.add(top ? "" : path.substr(0, slash), top ? path : path.substr(slash + 1),
                         entry);
    }
  }

  void place_other(const ArchiveContents::Other& other) {
    std::string_view path = other.path;
    SplitListing* split = split_of(path);
    if (split == nullptr) {
      const bool hidden = other.rule == naming::kHidden;
      listing_.skips.push_back(
          {printable(path), hidden ? naming::kHidden : naming::kOutsideSplits});
    } else if (other.rule.empty()) {
      split->rejects.push_back({printable(path), other.reason});
    } else {
      split->skips.push_back({printable(path), other.rule});
    }
  }

  const ArchiveContents& contents_;
  const ListOptions& options_;
  const fs::path source_;
  std::string around_;
  std::vector<std::string> splits_;
  std::unordered_map<std::string, std::int64_t> labels_;
  bool anywhere_ = false;  ///< images need no class folder: a file has their labels
  Listing listing_;
};

}  // namespace

std::optional<std::string> clean_path(std::string_view name) {
  if (name.starts_with('/') || name.find('\0') != std::string_view::npos) return std::nullopt;
  std::string path;
  path.reserve(name.size());
  while (!name.empty()) {
    const auto [first, rest] = cut_first(name);
    name = rest;
    if (first == "..") return std::nullopt;
    if (first.empty() || first == ".") continue;
    if (!path.empty()) path += '/';
    path += first;
  }
  if (path.empty()) return std::nullopt;
  return path;
}

void ArchiveContents::add_folders(std::string_view path) {
  std::size_t slash = 0;
  std::size_t begin = 0;
  for (std::size_t level = 0; level < kLevels; ++level, begin = slash + 1) {
    slash = path.find('/', begin);
    if (slash == std::string_view::npos || naming::is_hidden(path.substr(begin))) return;
    folders.emplace(path.substr(0, slash));
  }
}

Listing lay_out(const ArchiveContents& contents, const ListOptions& options,
                const fs::path& source) {
  Listing listing = Layout(contents, options, source).run();
  naming::refuse_empty(listing, source,
                       "packhorse expects class folders in an archive: <class>/<image>");
  return listing;
}

}  // namespace packhorse
