#include <algorithm>
#include <cstring>

#include "decode/jpeg_decoder.h"
#include "jpeg/decode/marker_segments.h"
#include "jpeg/decode/roi_layout.h"

namespace packhorse::reader {

namespace {

using namespace jpeg;  // NOLINT(google-build-using-namespace): the markers' names

constexpr std::uint8_t kMark = 0xff;

/// A part of the picture: MCU rows, and the restart segments of each row.
struct Part {
  std::uint32_t first_row = 0, end_row = 0, first_segment = 0, end_segment = 0;
};

/// Finds the steps of `unit` pixels, at most `steps`, that cover the `length` pixels from `begin`
/// on and a margin around them.
void cover(int begin, int length, int margin, std::uint32_t unit, std::uint32_t steps,
           std::uint32_t& first, std::uint32_t& end) {
  const auto from = static_cast<std::uint32_t>(std::max(0, begin - margin));
  const auto to = static_cast<std::uint32_t>(begin + length + margin);
  first = from / unit;
  end = std::min(steps, (to + unit - 1) / unit);
}

Part part_of(const RoiTable& table, const JpegTask& task) {
  // Interpolated chroma uses one sample beyond the window. Samples of a scaled picture are made
  // from blocks, which begin where those of the full-size picture begin.
  const auto margin = [&](std::uint32_t mcu) {
    return 2 * task.scaled * static_cast<int>(mcu / 8);
  };
  const Window& w = task.window;
  Part part;
  cover(w.y * task.scaled, w.h * task.scaled, margin(table.mcu_height), table.mcu_height,
        table.mcu_rows, part.first_row, part.end_row);
  cover(w.x * task.scaled, w.w * task.scaled, margin(table.mcu_width),
        table.mcu_width * table.restart_interval, table.segments_per_row(), part.first_segment,
        part.end_segment);
  return part;
}

/// Writes the slice into memory that has room for all of it.
class SliceWriter {
 public:
  SliceWriter(Bytes file, std::uint8_t* out)
      : file_(reinterpret_cast<const std::uint8_t*>(file.data())), out_(out), begin_(out) {}

  /// Writes the header segments that decoding depends on, with the part's size in the frame header.
  void write_header(const RoiTable& table, std::uint32_t width, std::uint32_t height) {
    copy(0, 2);
    SegmentWalk walk(std::as_bytes(std::span(file_, table.scan)));
    while (const std::optional<Segment> segment = walk.next()) {
      const std::uint8_t marker = segment->marker;
      std::uint8_t* const out = out_;
      if (is_needed(marker)) copy(segment->begin, segment->end);
      if (marker == kSof0 || marker == kSof1) {
        put16(out + 5, height);
        put16(out + 7, width);
      }
    }
  }

  /// Returns false when the row's markers are not those the table promises.
  bool write_row(const RoiTable& table, const Part& part, std::uint32_t row) {
    const ByteRange bytes = table.row_bytes(row);
    const std::uint8_t* const end = file_ + bytes.offset + bytes.length;
    const std::uint8_t* segment = file_ + bytes.offset;
    for (std::uint32_t s = 0; s < part.end_segment; ++s) {
      const std::uint8_t* const mark = find_mark(segment, end);
      const bool last = s + 1 == table.segments_per_row();
      const std::uint32_t number = (row * table.segments_per_row() + s) & 7;
      if (last ? mark != end : mark == end || mark[1] != kRst0 + number) return false;
      if (s >= part.first_segment) {
        out_ = std::copy(segment, mark, out_);
        *out_++ = kMark;
        *out_++ = static_cast<std::uint8_t>(kRst0 + (written_++ & 7));
      }
      segment = mark + 2;
    }
    return true;
  }

  /// Returns what was written. The marker after the last segment becomes the end marker.
  Bytes finish() {
    out_[-1] = kEoi;
    return std::as_bytes(std::span(begin_, out_));
  }

 private:
  static bool is_needed(std::uint8_t marker) {
    // APP0 (JFIF) and APP14 (Adobe) tell the colour space.
    return marker == kSof0 || marker == kSof1 || marker == kDht || marker == kDqt ||
           marker == kDri || marker == kSos || marker == kApp0 || marker == kApp14;
  }

  static const std::uint8_t* find_mark(const std::uint8_t* at, const std::uint8_t* end) {
    while (at < end) {
      at = static_cast<const std::uint8_t*>(
          std::memchr(at, kMark, static_cast<std::size_t>(end - at)));
      if (at == nullptr || at + 1 == end) return end;
      if (at[1] != 0) return at;
      at += 2;  // a byte FF of the data
    }
    return end;
  }

  void copy(std::uint64_t begin, std::uint64_t end) {
    out_ = std::copy(file_ + begin, file_ + end, out_);
  }

  static void put16(std::uint8_t* at, std::uint32_t value) {
    at[0] = static_cast<std::uint8_t>(value >> 8);
    at[1] = static_cast<std::uint8_t>(value);
  }

  const std::uint8_t* file_;
  std::uint8_t* out_;
  std::uint8_t* begin_;
  std::uint32_t written_ = 0;  ///< segments
};

}  // namespace

std::optional<JpegSlice> slice_jpeg(const JpegTask& task, PixelBuffer& buffer) {
  const std::optional<RoiTable> table = find_roi_table(task.file);
  if (!table || table->width != task.info.width || table->height != task.info.height) {
    return std::nullopt;
  }
  const Part part = part_of(*table, task);
  if (part.first_segment == 0 && part.end_segment == table->segments_per_row() &&
      part.first_row == 0 && part.end_row == table->mcu_rows) {
    return std::nullopt;
  }
  const std::uint32_t segment_width = table->mcu_width * table->restart_interval;
  const std::uint32_t x = part.first_segment * segment_width,
                      y = part.first_row * table->mcu_height;
  JpegSlice slice{task};
  slice.task.info.width = std::min(table->width, part.end_segment * segment_width) - x;
  slice.task.info.height = std::min(table->height, part.end_row * table->mcu_height) - y;
  slice.task.window.x -= static_cast<int>(x) / task.scaled;
  slice.task.window.y -= static_cast<int>(y) / task.scaled;

  const std::uint64_t rows = table->row_begin(part.end_row) - table->row_begin(part.first_row);
  SliceWriter writer(task.file, buffer.reserve(table->scan + rows + 2));
  writer.write_header(*table, slice.task.info.width, slice.task.info.height);
  for (std::uint32_t row = part.first_row; row < part.end_row; ++row) {
    if (!writer.write_row(*table, part, row)) return std::nullopt;
  }
  slice.task.file = writer.finish();
  return slice;
}

}  // namespace packhorse::reader
