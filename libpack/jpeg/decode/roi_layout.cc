#include "jpeg/decode/roi_layout.h"

#include <algorithm>

#include "jpeg/decode/marker_segments.h"

namespace packhorse {

namespace {

using namespace jpeg;  // NOLINT(google-build-using-namespace): the segments' names

std::uint32_t little(Bytes bytes, std::size_t at, std::size_t width) {
  std::uint32_t value = 0;
  for (std::size_t i = width; i-- > 0;) value = value << 8 | byte_at(bytes, at + i);
  return value;
}

bool marker_at(Bytes file, std::uint64_t at, std::uint32_t marker) {
  return at + 2 <= file.size() && byte_at(file, at) == 0xff && byte_at(file, at + 1) == marker;
}

/// Reads the sizes in the frame header; false for a frame of a kind that we do not write.
bool take_frame(const Segment& segment, RoiTable& table, std::uint32_t& components) {
  const Bytes body = segment.body;
  if ((segment.marker != kSof0 && segment.marker != kSof1) || body.size() < 6 ||
      byte_at(body, 0) != 8) {
    return false;
  }
  components = byte_at(body, 5);
  table.height = big16(body, 1);
  table.width = big16(body, 3);
  if (components == 0 || components > 4 || body.size() != 6 + 3 * components) return false;
  std::uint32_t h = 1, v = 1;
  for (std::size_t c = 0; c < components && components > 1; ++c) {
    h = std::max(h, std::uint32_t{byte_at(body, 7 + 3 * c)} >> 4);
    v = std::max(v, std::uint32_t{byte_at(body, 7 + 3 * c)} & 15);
  }
  table.mcu_width = 8 * h;
  table.mcu_height = 8 * v;
  table.mcus_per_row = (table.width + table.mcu_width - 1) / table.mcu_width;
  table.mcu_rows = (table.height + table.mcu_height - 1) / table.mcu_height;
  return table.width > 0 && table.height > 0;
}

bool offsets_hold(Bytes file, const RoiTable& table) {
  if (table.row_begin(0) != table.scan) return false;
  for (std::uint32_t row = 1; row < table.mcu_rows; ++row) {
    const std::uint32_t n = (row * table.segments_per_row() - 1) & 7;
    if (table.row_begin(row) < table.row_begin(row - 1) + 2 ||
        !marker_at(file, table.row_begin(row) - 2, kRst0 + n)) {
      return false;
    }
  }
  return table.row_begin(table.mcu_rows) >= table.row_begin(table.mcu_rows - 1) &&
         marker_at(file, table.row_begin(table.mcu_rows), kEoi);
}

}  // namespace

std::uint64_t RoiTable::row_begin(std::uint32_t row) const {
  return scan + little(offsets, std::size_t{4} * row, 4);
}

ByteRange RoiTable::row_bytes(std::uint32_t row) const {
  const std::uint64_t begin = row_begin(row), next = row_begin(row + 1);
  return {begin, next - begin - (row + 1 < mcu_rows ? 2 : 0)};
}

std::optional<RoiTable> find_roi_table(Bytes jpeg) {
  if (!marker_at(jpeg, 0, kSoi)) return std::nullopt;
  RoiTable table;
  Bytes ours;
  std::uint32_t components = 0, interval = 0;
  SegmentWalk walk(jpeg);
  while (const std::optional<Segment> segment = walk.next()) {
    const Bytes body = segment->body;
    if (is_start_of_frame(segment->marker)) {
      if (components != 0 || !take_frame(*segment, table, components)) return std::nullopt;
    } else if (segment->marker == kDri && body.size() == 2) {
      interval = big16(body, 0);
    } else if (is_roi_table(segment->marker, body)) {
      if (!ours.empty()) return std::nullopt;
      ours = body;
    } else if (segment->marker == kSos) {
      constexpr std::size_t kOffsets = RoiTable::kIdentifier.size() + 2;
      if (components == 0 || ours.size() != kOffsets + 4 * (std::size_t{table.mcu_rows} + 1) ||
          body.empty() || byte_at(body, 0) != components) {
        return std::nullopt;
      }
      table.restart_interval = little(ours, RoiTable::kIdentifier.size(), 2);
      table.offsets = ours.subspan(kOffsets);
      table.scan = segment->end;
      if (interval == 0 || interval != table.restart_interval ||
          table.mcus_per_row % interval != 0 || !offsets_hold(jpeg, table)) {
        return std::nullopt;
      }
      return table;
    }
  }
  return std::nullopt;
}

}  // namespace packhorse
