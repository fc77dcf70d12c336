#include "sources/archive/source_archive.h"

#include "labels/given_labels.h"
#include "listing/field_names.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/archive/archive_contents.h"
#include "sources/archive/archive_layout.h"
#include "sources/layout/class_doubts.h"
#include "sources/payload_source.h"

namespace packhorse::archive_file {

namespace fs = std::filesystem;

namespace {

class ArchiveSource final : public PayloadSource {
 public:
  explicit ArchiveSource(fs::path path) : path_(std::move(path)) {}

  Listing list(const ListOptions& options) override {
    std::vector<std::string> fields;
    if (options.fields.names) fields = checked_fields(*options.fields.names, path_);
    payloads_.emplace(options.scratch);
    const std::uint32_t file = payloads_->add_file(path_);
    const ArchiveContents contents = read_contents(*payloads_, file, path_, fields);
    const Layout layout = find_layout(contents.tree, options, path_);
    Listing listing = lay_out(contents, layout, options, path_);
    give_labels(layout.given_labels(options, path_), listing);
    naming::refuse_empty(listing, path_,
                         "packhorse expects class folders in an archive: <class>/<image>");
    doubt_classes(listing, options, layout);
    listing.fields = wanted_fields(fields, used(listing, fields), path_);
    return listing;
  }

 private:
  static std::vector<std::string> used(const Listing& listing,
                                       const std::vector<std::string>& fields) {
    std::uint32_t bits = 0;
    for (const SplitListing& split : listing.splits) {
      for (std::size_t i = 0; i < split.entries.size(); ++i) bits |= split.entries.facts(i).fields;
    }
    std::vector<std::string> names;
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if ((bits >> f & 1) != 0) names.push_back(fields[f]);
    }
    return names;
  }

  fs::path path_;
};

}  // namespace

bool probe(const fs::path& path) {
  std::error_code code;
  if (!fs::is_regular_file(path, code)) return false;
  if (has_archive_name(path.native())) return true;  // a damaged one is found when it is read
  const UniqueFd fd = open_for_reading(path);
  return is_archive(fd.get(), path);
}

std::unique_ptr<Source> open(const fs::path& path) { return std::make_unique<ArchiveSource>(path); }

}  // namespace packhorse::archive_file
