#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "packhorse/base/bytes.h"

namespace packhorse {

/// The offsets that the image modes `roi` and `resize` put into a JPEG, so that a reader finds the
/// rows of a crop without scanning for markers. They are in one APP9 segment before the scan; every
/// other decoder skips it. Numbers are little endian, except the segment's length, which JPEG
/// defines:
///
///     0        2   FF E9
///     2        2   length of the segment, itself included: 16 + 4 * rows, big endian
///     4        6   "PHROI\0"
///     10       1   version: 1
///     11       1   0
///     12       2   restart interval in MCUs, as in DRI; it divides the MCUs of a row
///     14+4*i   4   where MCU row i begins, i = 0 .. rows-1, counted from the first byte after the
///                  SOS segment: 0 for the first; the two bytes in front of any other are RSTn
///     14+4*rows 4  where EOI lies, counted the same way
///
/// `rows`, the number of MCU rows, follows from the frame header. A picture has at most 8192 of
/// them, so that one segment always suffices.
struct RoiTable {
  static constexpr std::uint8_t kMarker = 0xe9;  ///< APP9
  static constexpr std::string_view kIdentifier{"PHROI\0\1\0", 8};

  std::uint32_t width = 0, height = 0;          ///< the picture's size in pixels
  std::uint32_t mcu_width = 0, mcu_height = 0;  ///< pixels
  std::uint32_t mcus_per_row = 0, mcu_rows = 0;
  std::uint32_t restart_interval = 0;  ///< MCUs between two restart markers
  std::uint64_t scan = 0;              ///< offset in the file of the first entropy-coded byte

  std::uint32_t segments_per_row() const { return mcus_per_row / restart_interval; }
  /// Where MCU row `row` begins, from the file's start. row == mcu_rows: where EOI lies.
  std::uint64_t row_begin(std::uint32_t row) const;
  /// The entropy-coded bytes of MCU row `row` with the markers between its segments, but without
  /// the RSTn or EOI after it.
  ByteRange row_bytes(std::uint32_t row) const;

  Bytes offsets;  ///< rows + 1 numbers; a view of the file's bytes
};

/// Whether a segment of the header is such a table.
inline bool is_roi_table(std::uint8_t marker, Bytes body) {
  return marker == RoiTable::kMarker && as_text(body).starts_with(RoiTable::kIdentifier);
}

/// The table of a JPEG, if it has a valid one: a baseline image in one scan, whose restart interval
/// is the table's, with the right RSTn before each row's offset and EOI at the last. Any other file
/// (edited since, or from another program) gives none. Looks at no other entropy-coded data. The
/// result is a view of `jpeg`. Any thread.
std::optional<RoiTable> find_roi_table(Bytes jpeg);

}  // namespace packhorse
