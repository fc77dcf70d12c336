#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "archive/archive_scan.h"
#include "archive/spool.h"
#include "listing/listing.h"

namespace packhorse {

/// Where the images and fields of archives lie, and how they are read. Filled by one thread; then
/// any thread may read. Memory: 16 bytes per image, 16 per field.
class Payloads {
 public:
  explicit Payloads(std::filesystem::path scratch) : spool_(std::move(scratch)) {}

  /// Opens an archive file; its number is 0, 1, ...
  std::uint32_t add_file(const std::filesystem::path& path);
  int fd(std::uint32_t file) const { return files_[file].fd.get(); }
  /// Differs when the file has changed.
  std::int64_t stamp(std::uint32_t file) const { return files_[file].stamp; }
  /// Declares that nothing more is read from it in order: it may be closed when many are open.
  void done_with(std::uint32_t file);

  Spool& spool() { return spool_; }
  void seal() { spool_.seal(); }

  /// Returns the locator: 0, 1, ..., in the order in which the bytes lie.
  std::uint64_t add(std::uint32_t file, const Place& place);
  /// The same bytes under another locator.
  std::uint64_t add_again(std::uint64_t locator);
  std::uint64_t size() const { return places_.size(); }

  /// A field of an image: what is at another locator.
  struct Field {
    std::uint32_t number = 0;  ///< the field's number
    std::uint32_t bytes = 0;
    std::uint64_t locator = 0;
  };
  /// Replaces the fields of an image.
  void set_fields(std::uint64_t locator, const std::vector<Field>& fields);
  /// Makes field `i` field `numbers[i]` from now on.
  void renumber_fields(const std::vector<std::uint32_t>& numbers);
  /// The fields of an image, by their numbers.
  std::vector<Field> fields_of(const EntryTable::Facts& facts) const;
  /// Where the bytes begin in their archive; only for those in a plain tar.
  std::uint64_t offset_of(std::uint64_t locator) const { return places_[locator].offset; }

  /// Throws Error(kIo) when the archive has changed since add_file().
  void read(const EntryTable::Facts& facts, Input& out) const;
  void prefetch(const EntryTable::Facts& facts) const;
  /// The same of bytes in the middle of what is at a locator.
  void read_part(std::uint64_t locator, std::uint64_t offset, std::span<std::byte> out) const;
  void prefetch_part(std::uint64_t locator, std::uint64_t offset, std::uint64_t bytes) const;

 private:
  struct File {
    std::filesystem::path path;
    UniqueFd fd;
    std::int64_t stamp = 0;
  };
  struct Where {
    std::uint64_t offset;
    std::uint32_t file;  ///< kInSpool: in the spool
    std::uint32_t first_field;
  };
  static constexpr std::uint32_t kInSpool = ~std::uint32_t{0};

  Spool spool_;
  std::vector<File> files_;
  std::vector<Where> places_;
  std::vector<Field> fields_;
};

/// EntryTable::Facts::fields for the new numbers of the fields.
std::uint32_t renumbered(std::uint32_t fields, const std::vector<std::uint32_t>& numbers);

}  // namespace packhorse
