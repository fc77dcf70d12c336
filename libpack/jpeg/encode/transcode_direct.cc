#include "jpeg/decode/coefficients.h"
#include "jpeg/decode/marker_segments.h"
#include "jpeg/decode/roi_layout.h"
#include "jpeg/encode/jpeg_writer.h"
#include "jpeg/encode/transcode.h"

namespace packhorse::encode {

namespace {

/// What precedes the scan and is carried over.
struct Header {
  Frame frame;
  std::vector<Marker> markers;
};

void take_quant_tables(Bytes body, std::array<QuantTable, kMaxComponents>& tables) {
  for (; body.size() > kBlock; body = body.subspan(1 + kBlock)) {
    QuantTable& table = tables[jpeg::byte_at(body, 0) % kMaxComponents];
    for (std::size_t i = 0; i < kBlock; ++i) {
      table[kZigzag[i]] = static_cast<std::uint16_t>(jpeg::byte_at(body, 1 + i));
    }
  }
}

void take_frame(Bytes body, Frame& frame) {
  frame.height = jpeg::big16(body, 1);
  frame.width = jpeg::big16(body, 3);
  frame.count = jpeg::byte_at(body, 5);
  for (std::size_t c = 0; c < frame.count; ++c) {
    const std::uint32_t factors = jpeg::byte_at(body, 7 + 3 * c);
    frame.components[c] = {static_cast<std::uint8_t>(jpeg::byte_at(body, 6 + 3 * c)),
                           static_cast<std::uint8_t>(factors >> 4),
                           static_cast<std::uint8_t>(factors & 15),
                           static_cast<std::uint8_t>(jpeg::byte_at(body, 8 + 3 * c))};
  }
}

/// Reads a header that packhorse::jpeg has understood: one frame of one or three components, tables
/// of 8 bits.
Header header_of(Bytes file) {
  Header header;
  jpeg::SegmentWalk walk(file);
  while (const std::optional<jpeg::Segment> segment = walk.next()) {
    const std::uint8_t marker = segment->marker;
    if (marker == jpeg::kSos) break;
    if (jpeg::is_start_of_frame(marker)) take_frame(segment->body, header.frame);
    if (marker == jpeg::kDqt) take_quant_tables(segment->body, header.frame.quant);
    const bool metadata =
        marker == jpeg::kCom || (marker >= jpeg::kApp0 && marker < jpeg::kApp0 + 16);
    if (metadata && !is_roi_table(marker, segment->body) &&
        !jpeg::is_picture_index(marker, segment->body)) {
      header.markers.push_back({marker, segment->body});
    }
  }
  return header;
}

/// Begins at the first row: by then the header has been understood.
class Rows : public jpeg::CoefficientSink {
 public:
  Rows(Bytes file, int restart_mcus, std::size_t max_code_bits, ScanCoder& coder)
      : file_(file), restart_mcus_(restart_mcus), max_code_bits_(max_code_bits), coder_(coder) {}

  void take_mcu_row(const std::int16_t* blocks) override {
    if (!begun_) begin();
    coder_.add_mcu_row(reinterpret_cast<const Block*>(blocks));
  }
  const Header& header() const { return header_; }

 private:
  void begin() {
    header_ = header_of(file_);
    Frame& frame = header_.frame;
    frame.restart_interval =
        restart_interval_from(static_cast<std::uint32_t>(restart_mcus_), frame.mcus_per_row());
    coder_.start(frame, max_code_bits_);
    begun_ = true;
  }

  Bytes file_;
  int restart_mcus_;
  std::size_t max_code_bits_;
  ScanCoder& coder_;
  Header header_;
  bool begun_ = false;
};

}  // namespace

bool transcode_direct(Bytes file, const ImageInfo& info, int restart_mcus,
                      std::size_t max_code_bits, ScanCoder& coder, std::vector<std::byte>& output) {
  thread_local jpeg::Scratch scratch;
  Rows rows(file, restart_mcus, max_code_bits, coder);
  const jpeg::Result result = jpeg::decode_coefficients(file, rows, scratch);
  if (!result.done() || result.width != info.width || result.height != info.height) return false;
  coder.finish();
  write_jpeg(rows.header().frame, rows.header().markers, coder, output);
  return true;
}

}  // namespace packhorse::encode
