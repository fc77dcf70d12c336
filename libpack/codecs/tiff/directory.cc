#include "codecs/tiff/directory.h"

#include <algorithm>

namespace packhorse::codecs {

namespace tiff {

namespace {

constexpr std::size_t kEntryBytes = 12;

constexpr std::size_t width_of(std::uint32_t type) {
  switch (type) {
    case 1:
    case 2:
    case 6:
    case 7:
      return 1;  // BYTE, ASCII, SBYTE, UNDEFINED
    case 3:
    case 8:
      return 2;  // SHORT, SSHORT
    default:
      return 4;  // LONG and what we do not read
  }
}

/// From BYTE to IFD. Others are left out, as by libtiff.
bool is_known(std::uint32_t type) { return type >= 1 && type <= 13; }

}  // namespace

std::optional<Directory::Entry> Directory::find(std::uint32_t tag) const {
  const std::uint32_t entries = data_.u16(at_).value_or(0);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t at = at_ + 2 + kEntryBytes * i;
    const std::optional<std::uint32_t> number = data_.u16(at);
    if (!number) break;  // entries that the file has no room for
    if (*number != tag) continue;
    Entry entry{data_.u16(at + 2).value_or(0), data_.u32(at + 4).value_or(0), at + 8};
    if (!is_known(entry.type)) continue;
    if (width_of(entry.type) * std::uint64_t{entry.count} > 4)
      entry.values = data_.u32(at + 8).value_or(0);
    return entry;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> Directory::value_of(const Entry& entry, std::size_t i) const {
  if (i >= entry.count) return std::nullopt;
  const std::size_t width = width_of(entry.type);
  const std::size_t at = entry.values + width * i;
  return width == 1 ? data_.u8(at) : width == 2 ? data_.u16(at) : data_.u32(at);
}

std::uint32_t Directory::value(std::uint32_t tag, std::uint32_t otherwise) const {
  const std::optional<Entry> entry = find(tag);
  return entry ? value_of(*entry, 0).value_or(otherwise) : otherwise;
}

std::vector<std::uint32_t> Directory::values(std::uint32_t tag, std::size_t most) const {
  std::vector<std::uint32_t> values;
  const std::optional<Entry> entry = find(tag);
  for (std::size_t i = 0; entry && i < most; ++i) {
    const std::optional<std::uint32_t> value = value_of(*entry, i);
    if (!value) break;
    values.push_back(*value);
  }
  return values;
}

bool Directory::pieces_inside(std::uint32_t offsets_tag, std::uint32_t bytes_tag) const {
  constexpr std::uint64_t kMostShared = 4;
  constexpr std::uint32_t kHeader = 8;  // bytes in which no pixels are: 0 means that there are none
  const std::optional<Entry> offsets = find(offsets_tag), bytes = find(bytes_tag);
  if (!offsets || !bytes || offsets->count == 0 || offsets->count != bytes->count) return false;
  std::uint64_t together = 0;
  for (std::size_t i = 0; i < offsets->count; ++i) {
    const std::optional<std::uint32_t> offset = value_of(*offsets, i);
    const std::optional<std::uint32_t> length = value_of(*bytes, i);
    // Of pieces without bytes libtiff looks for some, and others make zeros.
    if (!offset || *offset < kHeader || length.value_or(0) == 0 || !data_.piece(*offset, *length))
      return false;
    // Empty tiles may share their bytes. Many large pieces that do would take hours to decode.
    together += *length;
    if (together > kMostShared * data_.size()) return false;
  }
  return true;
}

std::size_t Directory::bytes() const { return 2 + kEntryBytes * data_.u16(at_).value_or(0) + 4; }

std::size_t Directory::next() const { return data_.u32(at_ + bytes() - 4).value_or(0); }

std::optional<Cursor> open_structure(Bytes structure) {
  if (structure.size() < 8) return std::nullopt;
  const std::string_view order = as_text(structure.first(2));
  if (order != "II" && order != "MM") return std::nullopt;
  const Cursor data(structure, order == "MM");
  constexpr std::uint32_t kTiff = 42;
  return data.u16(2) == kTiff ? std::optional(data) : std::nullopt;
}

Directory first_directory(const Cursor& data) { return {data, data.u32(4).value_or(0)}; }

}  // namespace tiff

std::uint8_t exif_orientation(Bytes tiff_structure) {
  const std::optional<Cursor> data = tiff::open_structure(tiff_structure);
  if (!data) return 1;
  const std::uint32_t value = tiff::first_directory(*data).value(tiff::kOrientation, 1);
  return value >= 1 && value <= 8 ? narrow(value) : std::uint8_t{1};
}

}  // namespace packhorse::codecs
