#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "archive/archive_scan.h"
#include "base/file.h"
#include "dataset/dataset_directory.h"
#include "dataset/remote_files.h"
#include "labels/given_labels.h"
#include "listing/field_names.h"
#include "listing/listed_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/manifest.h"
#include "sources/kinds.h"
#include "sources/layout/attach_fields.h"
#include "sources/layout/layout.h"
#include "sources/objects/fetched_archive.h"
#include "sources/objects/object_reader.h"

namespace packhorse::objects {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostObjects = 100'000'000;

/// Class folders of objects. What an object is, its name alone tells: looking into each would be a
/// request for each.
class ObjectsSource final : public Source {
 public:
  ObjectsSource(fs::path url, std::shared_ptr<RemoteFiles> files)
      : url_(std::move(url)), files_(std::move(files)) {}

  Listing list(const ListOptions& options) override {
    const FieldSet fields(options.fields, url_);
    SourceContents contents = sort_out(fields, options.memory);
    contents.look =
        careful_look([&](const EntryTable::Entry& entry, std::vector<std::byte>& bytes) {
          objects_.read(entry.locator, bytes);
        });
    leave_out(contents, options.exclude);
    const Layout layout = find_layout(contents, fields, options, url_);
    Listing listing = lay_out(contents, layout, options, url_);
    attach_fields(listing, layout, fields, std::move(contents.field_files), url_,
                  [this](const EntryTable::Facts& facts, const FoundFields& found) {
                    for (const auto& [f, file] : found)
                      fields_of_[facts.locator].push_back({f, file->locator});
                  });
    give_labels(layout.given_labels(options, url_), listing);
    doubt_given_labels(listing, layout, options);
    naming::refuse_empty(listing, url_,
                         "packhorse expects class folders: s3://BUCKET/SOURCE/<class>/<image>");
    listing.fields = wanted_fields(fields.names(), fields.names_of(fields_in(listing)), url_);
    return listing;
  }

  void read(const SplitListing& split, std::size_t i, Input& out) const override {
    const EntryTable::Facts facts = split.entries.facts(i);
    out.image = {};
    out.fields = 0;
    objects_.read(facts.locator, out.bytes);
    if (facts.fields == 0) return;
    for (const Field& field : fields_of_.at(facts.locator)) {
      if (out.extras.size() <= out.fields) out.extras.emplace_back();
      Input::Extra& extra = out.extras[out.fields++];
      extra.field = field.number;
      objects_.read(field.object, extra.bytes);
    }
  }

  bool prefetch(const SplitListing& split, std::size_t i) const override {
    const EntryTable::Facts facts = split.entries.facts(i);
    objects_.prefetch(facts.locator);
    if (facts.fields != 0)
      for (const Field& field : fields_of_.at(facts.locator)) objects_.prefetch(field.object);
    return true;
  }

  bool folders_are_classes() const override { return true; }

 private:
  struct Field {
    std::size_t number;    ///< the field's
    std::uint64_t object;  ///< number in objects_
  };

  /// Lists the objects, and decides about every one, as for the members of an archive.
  SourceContents sort_out(const FieldSet& fields, const std::shared_ptr<EntryMemory>& memory) {
    std::vector<RemoteFile> listed = files_->list(kMostObjects);
    SourceContents contents;
    contents.images = EntryTable(memory);
    std::set<std::string, std::less<>> folders, passed_over;
    std::map<std::string, std::uint64_t, std::less<>> companions;  // that lie beside images
    for (RemoteFile& one : listed) {
      const std::uint64_t at = objects_.add(*files_, std::move(one));
      const RemoteFile& object = objects_[at];
      const std::optional<std::string> path = naming::clean_path(object.name);
      if (!path || !is_inner_name(object.name)) {
        contents.outside.push_back({object.name, Reason::kBadPath});
      } else if (const std::string_view over = naming::passed_over_in(*path); !over.empty()) {
        folders.emplace(naming::directory_of(over));
        passed_over.emplace(over);
        continue;
      } else if (naming::is_too_deep(*path)) {
        contents.outside.push_back({object.name, Reason::kTooDeep});
      } else if (fields.may_be_elsewhere(*path)) {
        contents.field_files.push_back({*path, object.bytes, object.stamp, at});
      } else if (fields.may_be_beside(*path)) {
        companions.emplace(*path, at);
      } else if (naming::has_any_image_name(*path) || naming::has_npy_name(*path)) {
        if (object.bytes > naming::kLargestImage) {
          contents.others.push_back({*path, {}, Reason::kFileTooLarge});
          folders.emplace(naming::directory_of(*path));
          continue;
        }
        const auto [directory, name] = naming::directory_and_name(*path);
        contents.images.add(directory, name,
                            {.size = object.bytes, .stamp = object.stamp, .locator = at});
      } else {
        contents.others.push_back({*path, naming::kNotAnImage, {}});
      }
      if (path) folders.emplace(naming::directory_of(*path));
    }
    contents.folders.assign(folders.begin(), folders.end());
    for (const std::string& path : passed_over)
      contents.others.push_back({path, naming::passed_over(naming::last_name(path)), {}});
    attach_companions(contents, fields, companions);
    return contents;
  }

  /// Gives images the fields that lie beside them; what is beside none is skipped.
  void attach_companions(SourceContents& contents, const FieldSet& fields,
                         const std::map<std::string, std::uint64_t, std::less<>>& companions) {
    if (companions.empty()) return;
    EntryTable images(contents.images.memory());
    std::set<std::string_view> taken;
    for (std::size_t i = 0; i < contents.images.size(); ++i) {
      EntryTable::Facts facts = contents.images.facts(i);
      const std::string path = contents.images.path_of(i);
      bool fits = true;
      for (std::size_t f = 0; f < fields.size(); ++f) {
        if (fields[f].place) continue;
        const auto found = companions.find(field_file(path, fields[f].name));
        if (found == companions.end()) continue;
        taken.insert(found->first);
        const RemoteFile& object = objects_[found->second];
        fits = facts.add_field(f, object.bytes) && fits;
        facts.stamp = mix_stamp(mix_stamp(facts.stamp, static_cast<std::uint64_t>(object.stamp)),
                                object.bytes);
        fields_of_[facts.locator].push_back({f, found->second});
      }
      if (!fits) {
        contents.others.push_back({path, {}, Reason::kFieldsTooLarge});
        continue;
      }
      const auto [directory, name] = naming::directory_and_name(path);
      images.add(directory, name, facts);
    }
    contents.images = std::move(images);
    for (const auto& [path, object] : companions) {
      if (!taken.contains(path)) contents.others.push_back({path, naming::kFieldAlone, {}});
    }
  }

  const fs::path url_;
  const std::shared_ptr<RemoteFiles> files_;
  ObjectReader objects_;
  std::unordered_map<std::uint64_t, std::vector<Field>> fields_of_;  ///< by an image's locator
};

}  // namespace

std::unique_ptr<Source> open(const fs::path& url, std::string_view named) {
  const std::shared_ptr<RemoteFiles> files = open_remote(url);
  const bool archive = has_archive_name(url.native());
  if (named.empty() ? archive : named == kArchiveSource.name)
    return std::make_unique<FetchedArchive>(url);
  if (named == kPackedSource.name) return kPackedSource.open(url);
  if (!named.empty() && named != kFolderSource.name) {
    throw Error(ErrorKind::kUnsupported,
                "packed datasets, archives and class folders are read from URLs, not sources of "
                "the kind " +
                    std::string(named),
                url, "copy it to a disk, or mount it");
  }
  const auto is_packed = [&] {
    return files->has(std::string(kManifestName)) || !files->splits().empty();
  };
  if (named.empty() && is_packed()) return kPackedSource.open(url);
  if (!files->can_list())
    throw Error(ErrorKind::kUnsupported, "web servers cannot list what they hold", url,
                "give an s3 URL, an archive, or a packed dataset");
  return std::make_unique<ObjectsSource>(url, files);
}

}  // namespace packhorse::objects
