#include "source_archive.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "archive_contents.h"
#include "archive_layout.h"
#include "packhorse/error.h"
#include "payloads.h"

namespace packhorse::archive_file {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostFields = 32;

class ArchiveSource final : public Source {
 public:
  explicit ArchiveSource(fs::path path) : path_(std::move(path)) {}

  Listing list(const ListOptions& options) override {
    std::vector<std::string> fields = options.fields.names.value_or(std::vector<std::string>{});
    std::sort(fields.begin(), fields.end());
    fields.erase(std::unique(fields.begin(), fields.end()), fields.end());
    if (fields.size() > kMostFields)
      throw Error(ErrorKind::kUsage, "more than 32 fields are asked for");
    payloads_.emplace(options.scratch);
    const std::uint32_t file = payloads_->add_file(path_);
    Listing listing = lay_out(read_contents(*payloads_, file, path_, fields), options, path_);
    keep_used_fields(listing, fields);
    return listing;
  }

  void read(const SplitListing& split, std::size_t i, Input& out) const override {
    payloads_->read(split.entries.facts(i), out);
  }

  bool prefetch(const SplitListing& split, std::size_t i) const override {
    payloads_->prefetch(split.entries.facts(i));
    return true;
  }

 private:
  /// Fields that no sample has are not in the listing: their bits are taken out.
  void keep_used_fields(Listing& listing, const std::vector<std::string>& fields) {
    std::uint32_t used = 0;
    for (const SplitListing& split : listing.splits) {
      for (std::size_t i = 0; i < split.entries.size(); ++i) used |= split.entries.facts(i).fields;
    }
    std::vector<std::uint32_t> numbers(fields.size());
    for (std::size_t f = 0; f < fields.size(); ++f) {
      numbers[f] = static_cast<std::uint32_t>(listing.fields.size());
      if ((used >> f & 1) != 0) listing.fields.push_back(fields[f]);
    }
    if (listing.fields.size() == fields.size()) return;
    payloads_->renumber_fields(numbers);
    for (SplitListing& split : listing.splits) renumber(split.entries, numbers);
  }

  static void renumber(EntryTable& entries, const std::vector<std::uint32_t>& numbers) {
    EntryTable table;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      EntryTable::Entry entry = entries[i];
      entry.fields = renumbered(entry.fields, numbers);
      const std::size_t slash = entry.path.rfind('/');
      table.add(std::string_view(entry.path).substr(0, slash),
                std::string_view(entry.path).substr(slash + 1), entry);
    }
    entries = std::move(table);
  }

  fs::path path_;
  std::optional<Payloads> payloads_;
};

}  // namespace

bool probe(const fs::path& path) {
  std::error_code code;
  if (!fs::is_regular_file(path, code)) return false;
  if (has_archive_name(path.native())) return true;  // a damaged one is told apart when it is read
  const UniqueFd fd = open_for_reading(path);
  return is_archive(fd.get(), path);
}

std::unique_ptr<Source> open(const fs::path& path) { return std::make_unique<ArchiveSource>(path); }

}  // namespace packhorse::archive_file
