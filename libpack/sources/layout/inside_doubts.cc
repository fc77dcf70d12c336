#include "sources/layout/inside_doubts.h"

#include <algorithm>
#include <set>

#include "listing/names.h"
#include "packhorse/base/printable.h"
#include "sources/layout/field_advice.h"
#include "sources/layout/folder_roles.h"
#include "sources/layout/layout.h"

namespace packhorse {

namespace {

using Kind = FolderRole::Kind;
using Names = std::vector<std::string>;
using naming::join;
using naming::quoted;

/// A dataset has fewer parts than this; but some classes have a folder for each image.
constexpr std::size_t kMostParts = 64;

constexpr const char* kIfClasses =
    "; if these are classes, give --allow-odd-classes, or --classes FILE";

/// What a folder holds, counting only folders that have images.
struct Content {
  bool images = false;  ///< directly in it
  Names folders;        ///< sorted
  friend bool operator==(const Content&, const Content&) = default;
};

/// The images of one class in a split: entries [begin, end), all below `folder`.
struct ClassFolder {
  const EntryTable* entries;
  std::size_t begin, end;
  std::string name;

  /// The content of the folder at `path` in the split; all images of this class lie below it.
  Content content(const std::string& path) const {
    Content content;
    for (std::size_t i = begin; i < end; ++i) {
      const std::string_view directory = entries->directory_of(i);
      if (i > begin && directory == entries->directory_of(i - 1)) continue;
      if (directory.size() == path.size()) {
        content.images = true;
        continue;
      }
      // Paths are sorted, so the images of one folder stand together.
      const auto inside = naming::cut_first(directory.substr(path.size() + 1)).first;
      if (content.folders.empty() || content.folders.back() != inside)
        content.folders.emplace_back(inside);
    }
    std::sort(content.folders.begin(), content.folders.end());
    return content;
  }

  /// The first folder, from this one down, that is not merely a wrapper around a single folder: the
  /// path to it, and its content.
  std::pair<std::string, Content> first_fork() const {
    std::string below;
    Content here = content(name);
    while (!here.images && here.folders.size() == 1) {
      below = join(below, here.folders.front());
      here = content(join(name, below));
    }
    return {below, here};
  }
};

/// The class folders of a split, sorted by name.
std::vector<ClassFolder> class_folders(const SplitListing& split) {
  std::vector<ClassFolder> folders;
  const EntryTable& entries = split.entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i > 0 && entries.directory_of(i) == entries.directory_of(i - 1)) continue;
    const std::string_view name = naming::cut_first(entries.directory_of(i)).first;
    if (!folders.empty() && folders.back().name == name) continue;
    if (!folders.empty()) folders.back().end = i;
    folders.push_back({&entries, i, entries.size(), std::string(name)});
  }
  std::sort(folders.begin(), folders.end(),
            [](const ClassFolder& a, const ClassFolder& b) { return a.name < b.name; });
  return folders;
}

/// "the class folders 'a', 'b' hold 'c'"
std::string hold(const Names& holders, const std::set<std::string>& what) {
  return (holders.size() == 1 ? "the class folder " : "the class folders ") + quoted(holders) +
         (holders.size() == 1 ? " holds " : " hold ") + quoted({what.begin(), what.end()});
}

/// The doubts about one split.
class InsideDoubts {
 public:
  InsideDoubts(Listing& listing, const SplitListing& split, const Layout::Root& root)
      : listing_(listing), split_(split), root_(root), folders_(class_folders(split)) {
    for (const ClassFolder& folder : folders_) {
      contents_.push_back(folder.content(folder.name));
      if (contents_.back().folders.size() > kMostParts) contents_.back().folders.clear();
      roles_.push_back(roles_of(contents_.back().folders));
    }
  }

  /// Adds a doubt when class folders hold splits: several datasets may lie side by side.
  void add_splits() {
    std::set<std::string> names;
    Names holders;
    std::vector<SplitFolder> first;
    for (std::size_t c = 0; c < folders_.size(); ++c) {
      std::vector<SplitFolder> splits;
      bool any = false;
      for (std::size_t i = 0; i < roles_[c].size(); ++i) {
        const FolderRole& role = roles_[c][i];
        if (role.kind != Kind::kSplit && role.kind != Kind::kUnclearSplit) continue;
        any = true;
        const std::string& name = contents_[c].folders[i];
        names.insert(name);
        if (role.kind == Kind::kSplit &&
            std::none_of(splits.begin(), splits.end(),
                         [&](const SplitFolder& one) { return one.split == role.split; }))
          splits.push_back({role.split, join(folders_[c].name, name)});
      }
      if (any) holders.push_back(folders_[c].name);
      if (first.empty()) first = std::move(splits);
    }
    if (holders.empty()) return;
    add(hold(holders, names) + ", named like splits",
        "give one of these folders as the source, or name the splits with --split-folders" +
            told(first) + kIfClasses);
  }

  /// Adds a doubt when masks and the like lie beside the images they belong to.
  void add_beside() {
    std::set<std::string> names;
    Names holders;
    for (std::size_t c = 0; c < folders_.size(); ++c) {
      bool images = contents_[c].images;
      Names beside;
      for (std::size_t i = 0; i < roles_[c].size(); ++i) {
        images = images || roles_[c][i].kind == Kind::kImages;
        if (roles_[c][i].kind == Kind::kBeside) beside.push_back(contents_[c].folders[i]);
      }
      if (!images || beside.empty()) continue;
      holders.push_back(folders_[c].name);
      names.insert(beside.begin(), beside.end());
    }
    if (holders.empty()) return;
    std::vector<FieldFolder> folders;
    for (const std::string& name : names)
      folders.push_back({join(holders.front(), name), join("{class}", name)});
    const std::string options = field_options(split_, root_, folders);
    std::string excluded;
    for (const std::string& name : names) excluded += "--exclude '*/" + printable(name) + "/*' ";
    add(hold(holders, names) +
            " beside images: such folders usually hold masks or labels, and would be packed as "
            "more images",
        (options.empty() ? "" : "pack them as fields of the images: " + options + "; or ") +
            "leave it out: " + excluded +
            "--allow-odd-classes; if these are images of the classes, give only "
            "--allow-odd-classes, or --classes FILE");
  }

  /// Adds a doubt when all class folders hold the same folders, which may be the classes.
  void add_same() {
    if (folders_.size() < 2) return;
    const auto fork = folders_.front().first_fork();
    if (fork.second.images || fork.second.folders.size() < 2 ||
        std::any_of(folders_.begin() + 1, folders_.end(),
                    [&](const ClassFolder& folder) { return folder.first_fork() != fork; }))
      return;
    Names tops;
    for (const ClassFolder& folder : folders_) tops.push_back(folder.name);
    add("all class folders (" + quoted(tops) + ") hold the same folders, " +
            quoted(fork.second.folders) + ", and no images beside them: those may be the classes",
        "if so, give one of the class folders as the source, or say which split each of them is" +
            told({{"train", tops[0]}, {"val", tops[1]}}) + kIfClasses);
  }

 private:
  void add(std::string what, std::string advice) {
    listing_.doubts.push_back({Doubt::Kind::kLayout, std::move(what), std::move(advice)});
  }

  /// The advice to name these folders as splits; empty where they already lie in a split.
  std::string told(std::vector<SplitFolder> folders) const {
    if (!split_.split.empty() || folders.empty()) return {};
    for (SplitFolder& one : folders) one.folder = join(split_.origin, one.folder);
    return ", e.g. " + split_folders_option(folders);
  }

  Listing& listing_;
  const SplitListing& split_;
  const Layout::Root& root_;
  const std::vector<ClassFolder> folders_;
  std::vector<Content> contents_;               ///< of each class folder; no folders if too many
  std::vector<std::vector<FolderRole>> roles_;  ///< roles of the folders in each of them
};

}  // namespace

void doubt_inside(Listing& listing, const ListOptions& options, const Layout& layout) {
  for (std::size_t s = 0; s < listing.splits.size(); ++s) {
    if (layout.roots[s].given) continue;
    InsideDoubts doubts(listing, listing.splits[s], layout.roots[s]);
    if (!options.split_folders) doubts.add_splits();
    doubts.add_beside();
    doubts.add_same();
  }
}

}  // namespace packhorse
