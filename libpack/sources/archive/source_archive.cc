#include "base/paths.h"
#include "labels/given_labels.h"
#include "listing/field_names.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/archive/archive_contents.h"
#include "sources/kinds.h"
#include "sources/layout/attach_fields.h"
#include "sources/layout/layout.h"
#include "sources/payload_source.h"

namespace packhorse::archive_file {

namespace fs = std::filesystem;

namespace {

class ArchiveSource final : public PayloadSource {
 public:
  explicit ArchiveSource(fs::path path) : path_(std::move(path)) {}

  Listing list(const ListOptions& options) override {
    const FieldSet fields(options.fields, path_);
    payloads_.emplace(options.scratch);
    const std::uint32_t file = payloads_->add_file(path_);
    SourceContents contents =
        read_contents(*payloads_, file, path_, fields, options.exclude, options.memory);
    contents.look =
        careful_look([&](const EntryTable::Entry& entry, std::vector<std::byte>& bytes) {
          Input image;
          payloads_->read(entry, image);
          bytes = std::move(image.bytes);
        });
    leave_out(contents, options.exclude);
    const Layout layout = find_layout(contents, fields, options, path_);
    Listing listing = lay_out(contents, layout, options, path_);
    attach_fields(listing, layout, fields, std::move(contents.field_files), path_,
                  [this](const EntryTable::Facts& facts, const FoundFields& found) {
                    add_fields(facts, found);
                  });
    give_labels(layout.given_labels(options, path_), listing);
    doubt_given_labels(listing, layout, options);
    naming::refuse_empty(listing, path_,
                         "packhorse expects class folders in an archive: <class>/<image>");
    listing.fields = wanted_fields(fields.names(), fields.names_of(fields_in(listing)), path_);
    return listing;
  }

  bool folders_are_classes() const override { return true; }

 private:
  /// Adds fields to those that lie beside an image.
  void add_fields(const EntryTable::Facts& facts, const FoundFields& found) {
    EntryTable::Facts beside = facts;
    for (const auto& [f, file] : found) beside.fields &= ~(std::uint32_t{1} << f);
    std::vector<Payloads::Field> all;
    if (beside.fields != 0) all = payloads_->fields_of(beside);
    for (const auto& [f, file] : found) {
      all.push_back(
          {static_cast<std::uint32_t>(f), static_cast<std::uint32_t>(file->size), file->locator});
    }
    payloads_->set_fields(facts.locator, all);
  }

  fs::path path_;
};

}  // namespace

bool probe(const fs::path& path, FolderLook&) {
  if (!is_file(path)) return false;
  if (has_archive_name(path.native())) return true;  // a damaged one is found when it is read
  const UniqueFd fd = open_for_reading(path);
  return is_archive(fd.get(), path);
}

std::unique_ptr<Source> open(const fs::path& path) { return std::make_unique<ArchiveSource>(path); }

}  // namespace packhorse::archive_file
