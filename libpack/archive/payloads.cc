#include "archive/payloads.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>

#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

// Further files are opened for each read: a dataset may have more shards than a process may open.
constexpr std::uint32_t kMostOpen = 256;

std::int64_t stamp_of(int fd, const fs::path& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw_errno("inspect", path);
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec +
         status.st_size;
}

}  // namespace

std::uint32_t Payloads::add_file(const fs::path& path) {
  File file{path, open_for_reading(path), 0};
  file.stamp = stamp_of(file.fd.get(), path);
  files_.push_back(std::move(file));
  return static_cast<std::uint32_t>(files_.size() - 1);
}

void Payloads::done_with(std::uint32_t file) {
  if (file >= kMostOpen) files_[file].fd.reset();
}

std::uint64_t Payloads::add(std::uint32_t file, const Place& place) {
  places_.push_back({place.offset, place.spooled ? kInSpool : file, 0});
  return places_.size() - 1;
}

std::uint64_t Payloads::add_again(std::uint64_t locator) {
  const Where where = places_[locator];
  places_.push_back(where);
  return places_.size() - 1;
}

void Payloads::set_fields(std::uint64_t locator, const std::vector<Field>& fields) {
  places_[locator].first_field = static_cast<std::uint32_t>(fields_.size());
  fields_.insert(fields_.end(), fields.begin(), fields.end());
}

void Payloads::renumber_fields(const std::vector<std::uint32_t>& numbers) {
  for (Field& field : fields_) field.number = numbers[field.number];
}

std::vector<Payloads::Field> Payloads::fields_of(const EntryTable::Facts& facts) const {
  const auto first = fields_.begin() + places_[facts.locator].first_field;
  std::vector<Field> fields(first, first + std::popcount(facts.fields));
  std::ranges::sort(fields, {}, &Field::number);
  return fields;
}

void Payloads::read_part(std::uint64_t locator, std::uint64_t offset,
                         std::span<std::byte> out) const {
  const Where& where = places_[locator];
  if (where.file == kInSpool) return spool_.read(where.offset + offset, out);
  const File& file = files_[where.file];
  UniqueFd own;
  if (!file.fd) own = open_for_reading(file.path);
  const int fd = own ? own.get() : file.fd.get();
  read_exactly(fd, where.offset + offset, out, file.path);
  if (stamp_of(fd, file.path) != file.stamp)
    throw Error(ErrorKind::kIo, "the archive changed since it was listed", file.path);
}

void Payloads::read(const EntryTable::Facts& facts, Input& out) const {
  out.image = {};
  out.bytes.resize(facts.size);
  read_part(facts.locator, 0, out.bytes);
  out.fields = 0;
  if (facts.fields == 0) return;
  for (const Field& field : fields_of(facts)) {
    if (out.extras.size() == out.fields) out.extras.emplace_back();
    Input::Extra& extra = out.extras[out.fields++];
    extra.field = field.number;
    extra.bytes.resize(field.bytes);
    read_part(field.locator, 0, extra.bytes);
  }
}

void Payloads::prefetch(const EntryTable::Facts& facts) const {
  prefetch_part(facts.locator, 0, facts.size);
}

void Payloads::prefetch_part(std::uint64_t locator, std::uint64_t offset,
                             std::uint64_t bytes) const {
  const Where& where = places_[locator];
  const int fd = where.file == kInSpool ? spool_.fd() : files_[where.file].fd.get();
  if (fd < 0) return;
  // Does not first ask whether the bytes are in memory, as is done for files: there, opening each
  // file is what costs. For a warm archive (CIFAR-10, 50,000 images) these calls take too little
  // time to be measured.
  ::posix_fadvise(fd, static_cast<off_t>(where.offset + offset), static_cast<off_t>(bytes),
                  POSIX_FADV_WILLNEED);
}

std::uint32_t renumbered(std::uint32_t fields, const std::vector<std::uint32_t>& numbers) {
  std::uint32_t bits = 0;
  for (std::size_t f = 0; f < numbers.size(); ++f) {
    if ((fields >> f & 1) != 0) bits |= std::uint32_t{1} << numbers[f];
  }
  return bits;
}

}  // namespace packhorse
