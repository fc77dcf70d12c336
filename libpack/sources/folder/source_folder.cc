#include "sources/folder/source_folder.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "archive/payloads.h"
#include "base/parallel.h"
#include "labels/given_labels.h"
#include "listing/field_names.h"
#include "listing/listed_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "packhorse/base/printable.h"
#include "sources/adoptable.h"
#include "sources/archive/archive_contents.h"
#include "sources/archive/archive_layout.h"
#include "sources/folder/disk_tree.h"
#include "sources/folder/folder_walk.h"
#include "sources/layout/class_doubts.h"
#include "sources/layout/layout.h"

namespace packhorse::folder {

namespace fs = std::filesystem;

namespace {

/// A folder whose folders are classes: the source, a folder in it, or one of its splits.
struct Root : Layout::Root {
  Root(const Layout::Root& root, OpenFolder opened) : Layout::Root(root), open(std::move(opened)) {
    open.items.look_at_files(open.fd.get(), listing_threads());
  }
  OpenFolder open;
};

/// The paths of the class folders.
using ClassFolders = std::multimap<FolderId, std::string>;

/// Joins the listings of class folders in the folders' order. Each is appended as soon as all
/// before it are in; otherwise nearly all of them would be held twice at the end.
class InOrder {
 public:
  InOrder(std::size_t n, SplitListing& out) : waiting_(n), out_(out) {}

  void put(std::size_t i, FolderListing&& listing) {
    const std::scoped_lock lock(mutex_);
    fields_ |= listing.fields;
    waiting_[i] = std::make_unique<FolderListing>(std::move(listing));
    for (; next_ < waiting_.size() && waiting_[next_]; waiting_[next_++].reset()) {
      FolderListing& ready = *waiting_[next_];
      out_.entries.append(std::move(ready.entries));
      std::move(ready.rejects.begin(), ready.rejects.end(), std::back_inserter(out_.rejects));
      std::move(ready.skips.begin(), ready.skips.end(), std::back_inserter(out_.skips));
    }
  }
  std::uint32_t fields() const { return fields_; }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<FolderListing>> waiting_;
  SplitListing& out_;
  std::size_t next_ = 0;
  std::uint32_t fields_ = 0;
};

class FolderSource final : public Source {
 public:
  explicit FolderSource(const fs::path& root) : folder_(root), root_(root) {}

  Listing list(const ListOptions& options) override {
    if (options.fields.names) fields_ = checked_fields(*options.fields.names, root_);
    std::optional<DiskTree> tree(std::in_place, root_, fields_, listing_threads());
    const Layout layout = find_layout(*tree, options, root_);
    std::vector<Root> roots;
    for (const Layout::Root& root : layout.roots) {
      if (!root.archive) roots.emplace_back(root, tree->take(root.folder));
    }
    std::optional<OpenFolder> around;
    if (!layout.is_root("")) around = tree->take("");
    tree.reset();  // its other folders may be large
    Listing listing;
    listing.notes = layout.notes;
    listing.doubts = layout.doubts;
    std::vector<Listing> archives;
    for (const Layout::Root& root : layout.roots) {
      if (root.archive) archives.push_back(list_archive(root, options));
    }
    listing.classes = class_names(options, roots, archives);
    std::uint32_t found = 0;
    ClassFolders class_folders;
    auto root = roots.begin();
    auto archive = archives.begin();
    for (const Layout::Root& one : layout.roots) {
      found |= one.archive ? take_archive(listing, *archive++, one)
                           : fill(listing, *root++, class_folders);
    }
    if (options.classes.empty()) doubt_same(class_folders, listing.doubts);
    if (around) listing.skips = skips_outside(*around, layout);
    give_labels(layout.given_labels(options, root_), listing);
    refuse_empty(listing);
    doubt_classes(listing, options, layout);
    // A missing field can only be noticed when some images could be listed.
    const bool images = std::any_of(listing.splits.begin(), listing.splits.end(),
                                    [](const SplitListing& s) { return s.entries.size() > 0; });
    listing.fields = images ? wanted_fields(fields_, names_of(found), root_) : fields_;
    return listing;
  }

  void read(const SplitListing& split, std::size_t i, Input& out) const override {
    if (archives_.contains(split.origin)) return payloads_->read(split.entries.facts(i), out);
    const EntryTable::Entry entry = split.entries[i];
    const std::string path = naming::join(split.origin, entry.path);
    out.image = {};
    out.fields = 0;
    folder_.read(path, entry.size, out.bytes);
    if (entry.fields != 0) read_fields(path, entry, out);
  }

  bool prefetch(const SplitListing& split, std::size_t i) const override {
    if (archives_.contains(split.origin)) {
      payloads_->prefetch(split.entries.facts(i));
      return true;
    }
    const std::string path = naming::join(split.origin, split.entries.path_of(i));
    const std::uint32_t fields = split.entries.facts(i).fields;
    bool slow = folder_.prefetch(path);
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if ((fields >> f & 1) != 0) slow = folder_.prefetch(field_file(path, fields_[f])) || slow;
    }
    return slow;
  }

 private:
  void refuse_empty(const Listing& listing) const {
    if (!naming::is_empty(listing)) return;
    const std::string adopted = advice_to_adopt(root_);
    naming::refuse_empty(listing, root_,
                         adopted.empty()
                             ? "packhorse expects a folder of class folders: SOURCE/<class>/<image>"
                             : adopted);
  }

  /// Lists an archive in the folder that is a split; its labels are places in its own class list.
  Listing list_archive(const Layout::Root& root, const ListOptions& options) {
    if (!payloads_) payloads_.emplace(options.scratch);
    const fs::path path = root_ / root.folder;
    const std::uint32_t file = payloads_->add_file(path);
    ListOptions inside;
    inside.classes = options.classes;
    inside.split_folders.emplace();
    if (root.given) inside.labels.files.emplace("", path);  // its folders mean nothing
    const ArchiveContents contents = read_contents(*payloads_, file, path, fields_);
    Listing listing = lay_out(contents, find_layout(contents.tree, inside, path), inside, path);
    SplitListing& split = listing.splits.front();
    split.split = root.split;
    split.origin = naming::join(root.folder, split.origin);
    archives_.insert(split.origin);
    return listing;
  }

  /// Adds the listing of an archive; returns which fields occur.
  static std::uint32_t take_archive(Listing& listing, Listing& archive, const Layout::Root& root) {
    SplitListing& split = archive.splits.front();
    const auto labels = naming::labels_of(listing.classes);
    std::uint32_t fields = 0;
    split.entries.relabel([&](std::size_t i) {
      const EntryTable::Facts facts = split.entries.facts(i);
      fields |= facts.fields;
      return std::optional<std::int64_t>(
          root.given ? 0 : labels.at(archive.classes[static_cast<std::size_t>(facts.label)]));
    });
    for (const Skip& skip : archive.skips)
      listing.skips.push_back({printable(root.folder) + '/' + skip.path, skip.rule});
    listing.doubts.insert(listing.doubts.end(), archive.doubts.begin(), archive.doubts.end());
    listing.splits.push_back(std::move(split));
    return fields;
  }

  void read_fields(const std::string& image, const EntryTable::Facts& facts, Input& out) const {
    std::uint64_t bytes = 0;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if ((facts.fields >> f & 1) == 0) continue;
      if (out.extras.size() <= out.fields) out.extras.emplace_back();
      Input::Extra& extra = out.extras[out.fields++];
      extra.field = f;
      try {
        folder_.read_unlisted(field_file(image, fields_[f]), extra.bytes);
      } catch (const Error& error) {
        throw Error(error.kind(), "its field " + fields_[f] + ": " + error.what(), error.path());
      }
      bytes += extra.bytes.size();
    }
    if (bytes != facts.field_bytes)
      throw Error(ErrorKind::kIo, "a field of it changed its size since it was listed",
                  root_ / image);
  }

  std::vector<std::string> names_of(std::uint32_t fields) const {
    std::vector<std::string> names;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if ((fields >> f & 1) != 0) names.push_back(fields_[f]);
    }
    return names;
  }

  /// The class folders of all roots whose labels are not given.
  std::vector<std::string> class_names(const ListOptions& options, const std::vector<Root>& roots,
                                       const std::vector<Listing>& archives) const {
    std::set<std::string> found;
    for (const Root& root : roots) {
      if (root.given) continue;
      for (const std::string& name : root.open.items.folders()) found.insert(name);
    }
    for (const Listing& archive : archives)
      found.insert(archive.classes.begin(), archive.classes.end());
    return naming::class_names(options.classes, found, root_);
  }

  std::vector<Skip> skips_outside(const OpenFolder& source, const Layout& layout) const {
    FolderListing outside;
    FolderWalk(fields_, source.above, listing_threads(), outside)
        .outside(source.fd.get(), source.items, "", layout.rule_outside(),
                 [&](const std::string& folder) { return layout.is_root(folder); });
    return std::move(outside.skips);
  }

  /// Adds a doubt when links make one folder into two class folders.
  static void doubt_same(const ClassFolders& folders, std::vector<Doubt>& doubts) {
    const auto two_classes = [](const ClassFolders::value_type& a,
                                const ClassFolders::value_type& b) {
      return a.first == b.first && naming::last_name(a.second) != naming::last_name(b.second);
    };
    const auto same = std::adjacent_find(folders.begin(), folders.end(), two_classes);
    if (same == folders.end()) return;
    doubts.push_back({Doubt::Kind::kLayout,
                      "the class folders " +
                          naming::quoted({same->second, std::next(same)->second}) +
                          " are the same folder, so its images would have two labels",
                      "remove the link; if both classes are meant, give --allow-odd-classes, or "
                      "--classes FILE"});
  }

  /// Lists one root; returns which fields occur.
  std::uint32_t fill(Listing& listing, const Root& root, ClassFolders& class_folders) const {
    const auto labels = naming::labels_of(listing.classes);
    SplitListing& out = listing.splits.emplace_back();
    out.split = root.split;
    out.origin = root.folder;
    // Folders in the order of the paths below them, so that nothing is left to sort.
    std::vector<std::string> folders = root.open.items.folders();
    std::sort(folders.begin(), folders.end(),
              [](const std::string& a, const std::string& b) { return a + '/' < b + '/'; });
    InOrder parts(folders.size() + 1, out);
    parts.put(0, top_files(root));
    std::vector<std::optional<FolderId>> ids(folders.size());
    run_parallel(listing_threads(), folders.size(), [&](std::size_t i) {
      FolderListing part;
      FolderWalk walk(fields_, root.open.above, listing_threads(), part);
      ids[i] = walk.folder(root.open.fd.get(), folders[i], folders[i],
                           root.given ? 0 : labels.at(folders[i]));
      part.entries.sort_by_path();
      parts.put(i + 1, std::move(part));
    });
    out.entries.sort_by_path();
    for (std::size_t i = 0; i < folders.size(); ++i)
      if (ids[i] && !root.given)
        class_folders.emplace(*ids[i], naming::join(root.folder, folders[i]));
    return parts.fields();
  }

  FolderListing top_files(const Root& root) const {
    FolderListing part;
    FolderWalk(fields_, root.open.above, listing_threads(), part)
        .files(root.open.fd.get(), root.open.items, "", 0);
    if (root.given) return part;
    part.fields = 0;
    for (std::size_t i = 0; i < part.entries.size(); ++i)
      part.rejects.push_back({printable(part.entries.path_of(i)), naming::kNoClassFolder});
    part.entries = {};
    return part;
  }

  ListedFolder folder_;
  fs::path root_;
  std::vector<std::string> fields_;
  std::optional<Payloads> payloads_;  ///< of the splits that are archives
  std::set<std::string> archives_;    ///< their SplitListing::origin
};

}  // namespace

bool probe(const fs::path& path) {
  std::error_code code;
  return fs::is_directory(path, code);
}

std::unique_ptr<Source> open(const fs::path& path) { return std::make_unique<FolderSource>(path); }

}  // namespace packhorse::folder
