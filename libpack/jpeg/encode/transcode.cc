#include "jpeg/encode/transcode.h"

#include <algorithm>

#include "codecs/jpeg/jpeg_session.h"
#include "jpeg/decode/marker_segments.h"
#include "jpeg/decode/roi_layout.h"
#include "jpeg/encode/jpeg_writer.h"

namespace packhorse::encode {

namespace {

constexpr std::size_t kMaxBlocksOfMcu = 10;  // T.81 B.2.3

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::kCorrupt, "damaged JPEG: " + what);
}

Frame frame_of(const jpeg_decompress_struct& jpeg, int restart_mcus) {
  Frame frame;
  frame.width = jpeg.image_width;
  frame.height = jpeg.image_height;
  frame.count = static_cast<std::size_t>(jpeg.num_components);
  std::array<bool, kMaxComponents> taken{};
  for (std::size_t c = 0; c < frame.count; ++c) {
    const jpeg_component_info& from = jpeg.comp_info[c];
    if (from.quant_table == nullptr) refuse("a component without any scan");
    QuantTable quant;
    std::copy_n(from.quant_table->quantval, kBlock, quant.begin());
    std::size_t q = static_cast<std::size_t>(from.quant_tbl_no);
    // Tables may change between the scans of a file; then the original's slots are not enough.
    while (taken[q] && frame.quant[q] != quant) q = (q + 1) % kMaxComponents;
    taken[q] = true;
    frame.quant[q] = quant;
    frame.components[c] = {
        static_cast<std::uint8_t>(from.component_id), static_cast<std::uint8_t>(from.h_samp_factor),
        static_cast<std::uint8_t>(from.v_samp_factor), static_cast<std::uint8_t>(q)};
  }
  frame.restart_interval =
      restart_interval_from(static_cast<std::uint32_t>(restart_mcus), frame.mcus_per_row());
  return frame;
}

std::vector<Marker> markers_of(const jpeg_decompress_struct& jpeg) {
  std::vector<Marker> markers;
  for (auto* marker = jpeg.marker_list; marker != nullptr; marker = marker->next) {
    const Bytes body = std::as_bytes(std::span(marker->data, marker->data_length));
    if (is_roi_table(marker->marker, body) || jpeg::is_picture_index(marker->marker, body))
      continue;
    markers.push_back({marker->marker, body});
  }
  return markers;
}

/// Whether the scans leave any bit of a coefficient unknown. libjpeg smooths the transitions
/// between the blocks of such pictures (its block smoothing), without a warning.
bool lacks_scans(const jpeg_decompress_struct& jpeg) {
  if (jpeg.progressive_mode == FALSE) return false;
  const auto is_known = [](int bits_missing) { return bits_missing == 0; };
  return !std::all_of(jpeg.coef_bits, jpeg.coef_bits + jpeg.num_components,
                      [&](const auto& bits) { return std::all_of(bits, bits + kBlock, is_known); });
}

/// The rows of blocks of MCU row `mcu_row`; libjpeg holds all coefficients in memory.
void fetch_rows(jpeg_decompress_struct& jpeg, jvirt_barray_ptr* coefficients, const Frame& frame,
                std::uint32_t mcu_row, ScanCoder::BlockRows& rows) {
  for (std::size_t c = 0; c < frame.count; ++c) {
    const std::uint32_t v = frame.mcu_v(c), first = mcu_row * v;
    const std::uint32_t there = std::min(v, frame.blocks_high(c) - first);
    const JBLOCKARRAY blocks = (*jpeg.mem->access_virt_barray)(
        reinterpret_cast<j_common_ptr>(&jpeg), coefficients[c], first, there, FALSE);
    for (std::uint32_t y = 0; y < 4; ++y) rows[c][y] = y < there ? blocks[y] : nullptr;
  }
}

}  // namespace

std::optional<std::string_view> reason_to_keep(Bytes file, const ImageInfo& info) {
  if (info.kind != ImageKind::kJpeg) return "kept: not a JPEG";
  jpeg::SegmentWalk walk(file);
  while (const std::optional<jpeg::Segment> segment = walk.next()) {
    if (segment->marker == jpeg::kSos) break;
    if (!jpeg::is_start_of_frame(segment->marker)) continue;
    unsigned blocks = 0;
    for (std::size_t at = 7; at < segment->body.size() && info.components > 1; at += 3) {
      const std::uint32_t factors = jpeg::byte_at(segment->body, at);
      blocks += (factors >> 4) * (factors & 15);
    }
    if (blocks > kMaxBlocksOfMcu) return "kept: a JPEG whose sampling does not fit into one scan";
  }
  return std::nullopt;
}

bool transcode_by_libjpeg(Bytes file, const ImageInfo& info, int restart_mcus,
                          std::size_t max_code_bits, ScanCoder& coder,
                          std::vector<std::byte>& output) {
  JpegSession session(file);
  session.keep_markers();
  session.read_header(info.width, info.height);
  jpeg_decompress_struct& jpeg = session.jpeg();
  jvirt_barray_ptr* coefficients = nullptr;
  session.run([&] { coefficients = jpeg_read_coefficients(&jpeg); });
  if (lacks_scans(jpeg)) return false;

  const Frame frame = frame_of(jpeg, restart_mcus);
  ScanCoder::BlockRows rows{};
  coder.start(frame, max_code_bits);
  for (std::uint32_t row = 0; row < frame.mcu_rows(); ++row) {
    session.run([&] { fetch_rows(jpeg, coefficients, frame, row, rows); });
    coder.add_mcu_row(rows);
  }
  coder.finish();
  write_jpeg(frame, markers_of(jpeg), coder, output);
  return true;
}

bool transcode(Bytes file, const ImageInfo& info, int restart_mcus, std::vector<std::byte>& output,
               std::size_t max_code_bits) {
  thread_local ScanCoder coder;
  return transcode_direct(file, info, restart_mcus, max_code_bits, coder, output) ||
         transcode_by_libjpeg(file, info, restart_mcus, max_code_bits, coder, output);
}

}  // namespace packhorse::encode
