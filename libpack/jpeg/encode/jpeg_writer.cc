#include "jpeg/encode/jpeg_writer.h"

#include <span>

#include "jpeg/decode/marker_segments.h"
#include "jpeg/decode/roi_layout.h"
#include "jpeg/encode/frame_header.h"

namespace packhorse::encode {

namespace {

class Output {
 public:
  explicit Output(std::vector<std::byte>& out) : out_(out) { out_.clear(); }
  void u8(std::size_t value) { out_.push_back(static_cast<std::byte>(value)); }
  void u16(std::size_t value) {
    u8(value >> 8);
    u8(value);
  }
  void little(std::size_t value, int bytes) {
    for (int i = 0; i < bytes; ++i, value >>= 8) u8(value);
  }
  void bytes(Bytes bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  void marker(std::uint8_t marker) {
    u8(0xff);
    u8(marker);
  }
  /// `length`: bytes after the length itself.
  void segment(std::uint8_t marker_byte, std::size_t length) {
    marker(marker_byte);
    u16(length + 2);
  }

 private:
  std::vector<std::byte>& out_;
};

/// 8-bit numbers are all that baseline allows; some files need more and are "extended sequential".
bool is_wide(const QuantTable& table) { return *std::ranges::max_element(table) > 255; }

void write_quant_tables(const Frame& frame, Output& out, bool& baseline) {
  for (std::size_t q = 0; q < kMaxComponents; ++q) {
    const auto uses = [&](const FrameComponent& component) { return component.quant == q; };
    const auto* end = frame.components.data() + frame.count;
    if (std::find_if(frame.components.data(), end, uses) == end) continue;
    const bool wide = is_wide(frame.quant[q]);
    if (wide) baseline = false;
    out.segment(jpeg::kDqt, 1 + kBlock * (wide ? 2 : 1));
    out.u8((wide ? 0x10 : 0) | q);
    for (const std::size_t place : std::span(kZigzag).first<kBlock>()) {
      if (wide) {
        out.u16(frame.quant[q][place]);
      } else {
        out.u8(frame.quant[q][place]);
      }
    }
  }
}

void write_frame(const Frame& frame, bool baseline, Output& out) {
  out.segment(baseline ? jpeg::kSof0 : jpeg::kSof1, 6 + 3 * frame.count);
  out.u8(8);
  out.u16(frame.height);
  out.u16(frame.width);
  out.u8(frame.count);
  for (std::size_t c = 0; c < frame.count; ++c) {
    const FrameComponent& component = frame.components[c];
    out.u8(component.id);
    out.u8(static_cast<std::size_t>(component.h << 4 | component.v));
    out.u8(component.quant);
  }
}

void write_huffman(const HuffmanTable& table, std::size_t kind_and_number, Output& out) {
  out.segment(jpeg::kDht, 17 + table.symbols.size());
  out.u8(kind_and_number);
  for (std::size_t n = 1; n <= 16; ++n) out.u8(table.lengths[n]);
  out.bytes(std::as_bytes(std::span(table.symbols)));
}

void write_roi_table(const Frame& frame, const ScanCoder& coder, Output& out) {
  out.segment(RoiTable::kMarker, RoiTable::kIdentifier.size() + 2 + 4 * coder.row_offsets().size());
  out.bytes(as_bytes(RoiTable::kIdentifier));
  out.little(frame.restart_interval, 2);
  for (std::uint32_t offset : coder.row_offsets()) out.little(offset, 4);
}

void write_scan_header(const Frame& frame, Output& out) {
  out.segment(jpeg::kDri, 2);
  out.u16(frame.restart_interval);
  out.segment(jpeg::kSos, 4 + 2 * frame.count);
  out.u8(frame.count);
  for (std::size_t c = 0; c < frame.count; ++c) {
    out.u8(frame.components[c].id);
    out.u8(ScanCoder::table_of(c) * 0x11);
  }
  out.u8(0);  // spectral selection: all of it
  out.u8(63);
  out.u8(0);  // no successive approximation
}

}  // namespace

void write_jpeg(const Frame& frame, const std::vector<Marker>& markers, const ScanCoder& coder,
                std::vector<std::byte>& out_bytes) {
  Output out(out_bytes);
  out.marker(jpeg::kSoi);
  for (const Marker& marker : markers) {
    out.segment(marker.marker, marker.body.size());
    out.bytes(marker.body);
  }
  write_roi_table(frame, coder, out);
  bool baseline = true;
  write_quant_tables(frame, out, baseline);
  write_frame(frame, baseline, out);
  for (std::size_t table = 0; table < (frame.count == 1 ? 1u : 2u); ++table) {
    write_huffman(coder.dc(table), table, out);
    write_huffman(coder.ac(table), 0x10 | table, out);
  }
  write_scan_header(frame, out);
  out.bytes(coder.data());
  out.marker(jpeg::kEoi);
}

std::uint32_t restart_interval_from(std::uint32_t target, std::uint32_t mcus_per_row) {
  std::uint32_t divisor = std::min(target, mcus_per_row);
  while (mcus_per_row % divisor != 0) ++divisor;
  return divisor;
}

}  // namespace packhorse::encode
