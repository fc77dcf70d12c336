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
#include "sources/layout/attach_fields.h"
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
  InOrder(std::size_t n, SplitListing& out, std::vector<FieldFile>& field_files)
      : waiting_(n), out_(out), field_files_(field_files) {}

  void put(std::size_t i, FolderListing&& listing) {
    listing.entries.settle();  // it may wait for long
    const std::scoped_lock lock(mutex_);
    waiting_[i] = std::make_unique<FolderListing>(std::move(listing));
    while (next_ < waiting_.size() && waiting_[next_]) {
      // Taken out first: what fails half way must not be met again by another thread.
      const std::unique_ptr<FolderListing> ready = std::move(waiting_[next_++]);
      out_.entries.append(std::move(ready->entries));
      std::move(ready->rejects.begin(), ready->rejects.end(), std::back_inserter(out_.rejects));
      std::move(ready->skips.begin(), ready->skips.end(), std::back_inserter(out_.skips));
      std::move(ready->field_files.begin(), ready->field_files.end(),
                std::back_inserter(field_files_));
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<FolderListing>> waiting_;
  SplitListing& out_;
  std::vector<FieldFile>& field_files_;
  std::size_t next_ = 0;
};

class FolderSource final : public Source {
 public:
  explicit FolderSource(const fs::path& root) : folder_(root), root_(root) {}

  Listing list(const ListOptions& options) override {
    fields_ = FieldSet(options.fields, root_);
    std::optional<DiskTree> tree(std::in_place, root_, fields_, listing_threads());
    layout_ = find_layout(*tree, options, fields_, root_);
    std::vector<Root> roots;
    for (const Layout::Root& root : layout_.roots) {
      if (!root.archive) roots.emplace_back(root, tree->take(root.folder));
    }
    std::optional<OpenFolder> around;
    if (!layout_.is_root("")) around = tree->take("");
    tree.reset();  // its other folders may be large
    Listing listing;
    listing.notes = layout_.notes;
    listing.doubts = layout_.doubts;
    std::vector<Listing> archives;
    for (const Layout::Root& root : layout_.roots) {
      if (root.archive) archives.push_back(list_archive(root, options));
    }
    listing.classes = class_names(options, roots, archives);
    std::vector<FieldFile> field_files;
    ClassFolders class_folders;
    auto root = roots.begin();
    auto archive = archives.begin();
    for (const Layout::Root& one : layout_.roots) {
      if (one.archive) {
        take_archive(listing, *archive++, one);
      } else {
        fill(listing, *root++, class_folders, field_files, options.memory);
      }
    }
    if (options.classes.empty()) doubt_same(class_folders, listing.doubts);
    UnreadableFolders unreadable;
    if (around) listing.skips = skips_outside(*around, field_files, unreadable);
    attach_fields(listing, layout_, fields_, std::move(field_files), root_, mix_stamps, unreadable);
    give_labels(layout_.given_labels(options, root_), listing);
    refuse_empty(listing);
    doubt_classes(listing, options, layout_);
    listing.fields = occurring_fields(listing);
    return listing;
  }

  void read(const SplitListing& split, std::size_t i, Input& out) const override {
    if (archives_.contains(split.origin)) return payloads_->read(split.entries.facts(i), out);
    const EntryTable::Entry entry = split.entries[i];
    const std::string path = naming::join(split.origin, entry.path);
    out.image = {};
    out.fields = 0;
    folder_.read(path, entry.size, out.bytes);
    if (entry.fields != 0) read_fields(path, split, entry, out);
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
      if ((fields >> f & 1) != 0) slow = folder_.prefetch(file_of(f, path, split)) || slow;
    }
    return slow;
  }

  bool folders_are_classes() const override { return true; }

 private:
  void refuse_empty(const Listing& listing) const {
    if (!naming::is_empty(listing)) return;
    const std::string adopted = advice_to_adopt(root_);
    naming::refuse_empty(listing, root_,
                         adopted.empty()
                             ? "packhorse expects a folder of class folders: SOURCE/<class>/<image>"
                             : adopted);
  }

  /// A missing field can only be noticed when some images could be listed.
  std::vector<std::string> occurring_fields(const Listing& listing) const {
    const bool images = std::any_of(listing.splits.begin(), listing.splits.end(),
                                    [](const SplitListing& s) { return s.entries.size() > 0; });
    if (!images) return fields_.names();
    return wanted_fields(fields_.names(), fields_.names_of(fields_in(listing)), root_);
  }

  static void mix_stamps(EntryTable::Facts& facts, const FoundFields& found) {
    for (const auto& [f, file] : found)
      facts.stamp =
          mix_stamp(mix_stamp(facts.stamp, static_cast<std::uint64_t>(file->stamp)), file->size);
  }

  /// The file in the source of field `f` of the image at `path` in the source.
  std::string file_of(std::size_t f, const std::string& path, const SplitListing& split) const {
    const std::optional<FieldPattern>& place = fields_[f].place;
    if (!place) return field_file(path, fields_[f].name);
    const auto root =
        std::find_if(layout_.roots.begin(), layout_.roots.end(),
                     [&](const Layout::Root& one) { return one.folder == split.origin; });
    return place->file_of(root->place_of(path)).value_or("");
  }

  /// Lists an archive in the folder that is a split; its labels are places in its own class list.
  Listing list_archive(const Layout::Root& root, const ListOptions& options) {
    const fs::path path = root_ / root.folder;
    if (fields_.any_elsewhere()) {
      throw Error(ErrorKind::kUsage, "--field-from cannot look into an archive that is a split",
                  path, "pack the archive alone, or unpack it and name its folder");
    }
    if (!payloads_) payloads_.emplace(options.scratch);
    const std::uint32_t file = payloads_->add_file(path);
    ListOptions inside;
    inside.classes = options.classes;
    inside.split_folders.emplace();
    inside.memory = options.memory;
    if (root.given) inside.labels.files.emplace("", path);  // its folders mean nothing
    const ArchiveContents contents = read_contents(*payloads_, file, path, fields_, options.memory);
    Listing listing =
        lay_out(contents, find_layout(contents.tree, inside, fields_, path), inside, path);
    SplitListing& split = listing.splits.front();
    split.split = root.split;
    split.origin = naming::join(root.folder, split.origin);
    archives_.insert(split.origin);
    return listing;
  }

  /// Adds the listing of an archive.
  static void take_archive(Listing& listing, Listing& archive, const Layout::Root& root) {
    SplitListing& split = archive.splits.front();
    const auto labels = naming::labels_of(listing.classes);
    split.entries.relabel([&](std::size_t i) {
      const auto label = static_cast<std::size_t>(split.entries.label_of(i));
      return std::optional<std::int64_t>(root.given ? 0 : labels.at(archive.classes[label]));
    });
    for (const Skip& skip : archive.skips)
      listing.skips.push_back({printable(root.folder) + '/' + skip.path, skip.rule});
    listing.doubts.insert(listing.doubts.end(), archive.doubts.begin(), archive.doubts.end());
    listing.splits.push_back(std::move(split));
  }

  void read_fields(const std::string& image, const SplitListing& split,
                   const EntryTable::Facts& facts, Input& out) const {
    std::uint64_t bytes = 0;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if ((facts.fields >> f & 1) == 0) continue;
      if (out.extras.size() <= out.fields) out.extras.emplace_back();
      Input::Extra& extra = out.extras[out.fields++];
      extra.field = f;
      try {
        const bool elsewhere = fields_[f].place.has_value();
        folder_.read_unlisted(file_of(f, image, split), extra.bytes,
                              elsewhere ? ListedFolder::Links::kInside : ListedFolder::Links::kAny);
      } catch (const Error& error) {
        throw Error(error.kind(), "its field " + fields_[f].name + ": " + error.what(),
                    error.path());
      }
      bytes += extra.bytes.size();
    }
    if (bytes != facts.field_bytes)
      throw Error(ErrorKind::kIo, "a field of it changed its size since it was listed",
                  root_ / image);
  }

  /// The class folders of all roots whose labels are not given.
  std::vector<std::string> class_names(const ListOptions& options, const std::vector<Root>& roots,
                                       const std::vector<Listing>& archives) const {
    std::set<std::string> found;
    for (const Root& root : roots) {
      if (root.given) continue;
      for (const std::string& name : root.open.items.folders())
        if (!root.holds_fields(name)) found.insert(name);
    }
    for (const Listing& archive : archives)
      found.insert(archive.classes.begin(), archive.classes.end());
    return naming::class_names(options.classes, found, root_);
  }

  std::vector<Skip> skips_outside(OpenFolder& source, std::vector<FieldFile>& field_files,
                                  UnreadableFolders& unreadable) const {
    FolderListing outside;
    FolderWalk(fields_, "", source.above, listing_threads(), outside)
        .outside(source.fd.get(), source.items, "", layout_.rule_outside(),
                 [&](const std::string& folder) { return layout_.is_root(folder); });
    std::move(outside.field_files.begin(), outside.field_files.end(),
              std::back_inserter(field_files));
    unreadable = std::move(outside.unreadable);
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

  /// Lists one root.
  void fill(Listing& listing, const Root& root, ClassFolders& class_folders,
            std::vector<FieldFile>& field_files, const std::shared_ptr<EntryMemory>& memory) const {
    const auto labels = naming::labels_of(listing.classes);
    SplitListing& out = listing.splits.emplace_back();
    out.split = root.split;
    out.origin = root.folder;
    out.entries = EntryTable(memory);
    // Folders in the order of the paths below them, so that nothing is left to sort.
    std::vector<std::string> folders = root.open.items.folders();
    std::sort(folders.begin(), folders.end(),
              [](const std::string& a, const std::string& b) { return a + '/' < b + '/'; });
    InOrder parts(folders.size() + 1, out, field_files);
    parts.put(0, top_files(root, memory));
    std::vector<std::optional<FolderId>> ids(folders.size());
    run_parallel(listing_threads(), folders.size(), [&](std::size_t i) {
      FolderListing part{.entries = EntryTable(memory)};
      FolderWalk walk(fields_, root.folder, root.open.above, listing_threads(), part);
      const bool is_class = !root.given && !root.holds_fields(folders[i]);
      ids[i] = walk.folder(root.open.fd.get(), folders[i], folders[i],
                           is_class ? labels.at(folders[i]) : 0);
      if (root.holds_fields(folders[i])) skip_all(part);
      part.entries.sort_by_path();
      parts.put(i + 1, std::move(part));
    });
    out.entries.sort_by_path();
    for (std::size_t i = 0; i < folders.size(); ++i)
      if (ids[i] && !root.given && !root.holds_fields(folders[i]))
        class_folders.emplace(*ids[i], naming::join(root.folder, folders[i]));
  }

  FolderListing top_files(const Root& root, const std::shared_ptr<EntryMemory>& memory) const {
    FolderListing part{.entries = EntryTable(memory)};
    FolderWalk(fields_, root.folder, root.open.above, listing_threads(), part)
        .files(root.open.fd.get(), root.open.items, "", 0);
    if (root.given) return part;
    for (std::size_t i = 0; i < part.entries.size(); ++i)
      part.rejects.push_back({printable(part.entries.path_of(i)), naming::kNoClassFolder});
    part.entries = {};
    return part;
  }

  static void skip_all(FolderListing& part) {
    for (std::size_t i = 0; i < part.entries.size(); ++i)
      part.skips.push_back({printable(part.entries.path_of(i)), naming::kInFieldFolder});
    part.entries = {};
  }

  ListedFolder folder_;
  fs::path root_;
  FieldSet fields_;
  Layout layout_;
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
