#include <algorithm>
#include <map>
#include <set>

#include "archive/archive_scan.h"
#include "archive/payloads.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/printable.h"
#include "labels/given_labels.h"
#include "listing/field_names.h"
#include "listing/listed_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/archive/archive_contents.h"
#include "sources/folder/folder_items.h"
#include "sources/kinds.h"
#include "sources/layout/attach_fields.h"
#include "sources/layout/layout.h"
#include "sources/unread_files.h"

namespace packhorse::folder {

namespace fs = std::filesystem;

namespace {

class FolderSource final : public Source {
 public:
  FolderSource(const fs::path& root, SourceContents::AnnotatedReadings readings)
      : folder_(root), root_(root), readings_(std::move(readings)) {}

  Listing list(const ListOptions& options) override {
    fields_ = FieldSet(options.fields, root_);
    SourceContents contents = read_folder(root_, fields_, options.memory);
    std::map<std::string, Listing> archives;
    contents.read_archive = [&](const std::string& path, const std::string& split) {
      return read_archive(path, split, options, archives);
    };
    contents.look =
        careful_look([&](const EntryTable::Entry& entry, std::vector<std::byte>& bytes) {
          folder_.read(entry.path, entry.size, bytes);
        });
    contents.disk = root_;
    contents.annotated_readings = readings_;
    leave_out(contents, options.exclude);
    layout_ = find_layout(contents, fields_, options, root_);
    std::vector<FieldFile> field_files = std::move(contents.field_files);
    const UnreadableFolders unreadable = std::move(contents.unreadable);
    Listing listing = lay_out(contents, layout_, options, root_);
    for (std::size_t r = 0; r < layout_.roots.size(); ++r)
      if (layout_.roots[r].archive) {
        take_archive(listing, archives.at(layout_.roots[r].folder), layout_.roots[r], r);
        archives_.insert(listing.splits[r].origin);
      }
    attach_fields(listing, layout_, fields_, std::move(field_files), root_, mix_stamps, unreadable);
    give_labels(layout_.given_labels(options, root_), listing);
    doubt_given_labels(listing, layout_, options);
    refuse_empty(listing);
    listing.fields = occurring_fields(listing);
    return listing;
  }

  void read(const SplitListing& split, std::size_t i, Input& out) const override {
    if (archives_.contains(split.origin)) return payloads_->read(split.entries.facts(i), out);
    const EntryTable::Entry entry = split.entries[i];
    const std::string path = naming::join(split.origin, entry.path);
    out.image = {};
    out.fields = 0;
    folder_.read_image(path, entry.size, out);
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
  bool images_are_files() const override { return archives_.empty(); }

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
    const bool images = std::ranges::any_of(
        listing.splits, [](const SplitListing& s) { return s.entries.size() > 0; });
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
    const auto root = std::ranges::find(layout_.roots, split.origin, &Layout::Root::folder);
    return place->file_of(root->place_of(path)).value_or("");
  }

  /// What is in the archive at a path in the source, which may become a split; nothing when it is
  /// none.
  std::optional<SourceContents::Archive> read_archive(const std::string& path,
                                                      const std::string& split,
                                                      const ListOptions& options,
                                                      std::map<std::string, Listing>& archives) {
    const fs::path file = root_ / path;
    if (!is_file(file) ||
        !(has_archive_name(file.native()) || is_archive(open_for_reading(file).get(), file)))
      return std::nullopt;
    const bool given = options.labels.for_all() || options.labels.covers(split);
    auto known = archives.find(path);
    if (known == archives.end())
      known = archives.emplace(path, list_archive(path, given, options)).first;
    const Listing& listing = known->second;
    return SourceContents::Archive{{listing.classes.begin(), listing.classes.end()},
                                   listing.splits.front().entries.size(),
                                   !listing.doubts.empty()};
  }

  /// Lists an archive that is a split; its labels are places in its own class list.
  Listing list_archive(const std::string& folder, bool given, const ListOptions& options) {
    const fs::path path = root_ / folder;
    if (fields_.any_elsewhere()) {
      throw Error(ErrorKind::kUsage, "`field_from=` cannot look into an archive that is a split",
                  path, "pack the archive alone, or unpack it and name its folder");
    }
    if (!payloads_) payloads_.emplace(options.scratch);
    const std::uint32_t file = payloads_->add_file(path);
    ListOptions inside;
    inside.classes = options.classes;
    inside.classes_at = options.classes_at;
    inside.allow_odd_classes = options.allow_odd_classes;
    inside.split_folders.emplace();
    inside.memory = options.memory;
    if (given) inside.labels.files.emplace("", path);  // its folders mean nothing
    SourceContents contents = read_contents(*payloads_, file, path, fields_, {}, options.memory);
    leave_out(contents, {});
    const Layout layout = find_layout(contents, fields_, inside, path);
    Listing listing = lay_out(contents, layout, inside, path);
    SplitListing& split = listing.splits.front();
    split.origin = naming::join(folder, split.origin);
    return listing;
  }

  /// Puts the listing of an archive in the place of its root.
  static void take_archive(Listing& listing, Listing& archive, const Layout::Root& root,
                           std::size_t place) {
    SplitListing& split = archive.splits.front();
    split.split = root.split;
    const auto labels = naming::labels_of(listing.classes);
    split.entries.relabel([&](std::size_t i) {
      const auto label = static_cast<std::size_t>(split.entries.label_of(i));
      return std::optional<std::int64_t>(root.given ? 0 : labels.at(archive.classes[label]));
    });
    for (const Skip& skip : archive.skips)
      listing.skips.push_back({printable(root.folder) + '/' + skip.path, skip.rule});
    listing.doubts.insert(listing.doubts.end(), archive.doubts.begin(), archive.doubts.end());
    listing.splits[place] = std::move(split);
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

  ListedFolder folder_;
  fs::path root_;
  SourceContents::AnnotatedReadings readings_;
  FieldSet fields_;
  Layout layout_;
  std::optional<Payloads> payloads_;  ///< of the splits that are archives
  std::set<std::string> archives_;    ///< their SplitListing::origin
};

}  // namespace

bool probe(const fs::path& path, FolderLook&) { return is_folder(path); }

std::unique_ptr<Source> open(const fs::path& path) { return open_with(path, {}); }

std::unique_ptr<Source> open_with(const fs::path& path,
                                  SourceContents::AnnotatedReadings readings) {
  return std::make_unique<FolderSource>(path, std::move(readings));
}

}  // namespace packhorse::folder
