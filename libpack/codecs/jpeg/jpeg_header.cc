#include <algorithm>
#include <cstring>

#include "codecs/codec.h"
#include "codecs/cursor.h"
#include "jpeg/decode/marker_segments.h"

namespace packhorse::codecs {

namespace {

using namespace jpeg;  // NOLINT(google-build-using-namespace): the markers' names

bool is_progressive(std::uint32_t start_of_frame) { return (start_of_frame & 3) == 2; }

/// Entropy-coded data cannot hold the bytes FF D9, so the last of them after the scan's start is
/// its end. The search runs from the back: bytes after the end (padding, appended data) are common
/// and harmless.
bool has_end_mark(Bytes file, std::size_t scan) {
  for (std::size_t i = file.size(); i >= scan + 2; --i) {
    if (file[i - 1] == std::byte{kEoi} && file[i - 2] == std::byte{0xff}) return true;
  }
  return false;
}

/// Counts the scans. `at` is where the first scan's segment has its length. Passes over what a
/// decoder would: segments between scans, and bytes that are no marker.
std::uint32_t count_scans(Bytes file, std::size_t at) {
  const Cursor data(file);
  std::uint32_t scans = 0;
  for (std::uint8_t marker = kSos; marker != kEoi;) {
    if (!stands_alone(marker)) {
      scans += marker == kSos ? 1 : 0;
      at += data.u16(at).value_or(0);
    }
    if (at >= file.size()) break;
    const void* next = std::memchr(file.data() + at, 0xff, file.size() - at);
    if (next == nullptr) break;
    at = static_cast<std::size_t>(static_cast<const std::byte*>(next) - file.data());
    while (data.u8(at) == 0xffu) ++at;
    marker = static_cast<std::uint8_t>(data.u8(at++).value_or(kEoi));
  }
  return scans;
}

/// Two bytes for each coefficient of whole MCUs. `frame`: the body of its segment.
std::uint64_t coefficient_bytes(const ImageInfo& info, Bytes frame) {
  std::uint64_t h_max = 1, v_max = 1, blocks = 0;
  for (std::size_t c = 0; c < info.components; ++c) {
    const std::uint64_t factors = byte_at(frame, 7 + 3 * c), h = factors >> 4, v = factors & 15;
    h_max = std::max(h_max, h);
    v_max = std::max(v_max, v);
    blocks += h * v;
  }
  const auto mcus = [](std::uint64_t pixels, std::uint64_t blocks_each) {
    return (pixels + 8 * blocks_each - 1) / (8 * blocks_each);
  };
  return mcus(info.width, h_max) * mcus(info.height, v_max) * blocks * 64 * 2;
}

/// The kind of a JPEG that libjpeg-turbo does not decode; empty for any other. ITU-T T.81, table
/// B.1, numbers the processes.
std::string unsupported_process(std::uint8_t start_of_frame, unsigned bits) {
  switch (start_of_frame) {
    case 0xc3:
    case 0xcb:
      return "lossless JPEG";
    case kSof0:
    case kSof1:
    case 0xc2:
    case kSof9:
    case 0xca:
      return bits == 12 ? "JPEG of 12 bits" : "";
    default:
      return "hierarchical JPEG";
  }
}

PixelLayout layout_of(const ImageInfo& info) {
  const ColourModel model = info.components == 1   ? ColourModel::kGrey
                            : info.components == 4 ? ColourModel::kCmyk
                                                   : ColourModel::kRgb;
  return {model, Alpha::kNone, info.components, 8};
}

/// Why the header ends before a scan.
std::string refusal(const SegmentWalk& walk) {
  switch (walk.why()) {
    case SegmentWalk::Stop::kNoMarker:
      return "damaged header: no marker at byte " + std::to_string(walk.at());
    case SegmentWalk::Stop::kBadLength:
      return "damaged header: bad segment length";
    case SegmentWalk::Stop::kBeyondEnd:
      return "truncated: a segment reaches beyond the end of the file";
    default:
      return "truncated: the file ends in the header";
  }
}

}  // namespace

ProbeResult read_jpeg_header(Bytes file, bool cut) {
  ImageInfo info;
  Bytes frame;
  bool progressive = false;
  SegmentWalk walk(file);
  while (const std::optional<Segment> segment = walk.next()) {
    const std::uint8_t marker = segment->marker;
    const Bytes body = segment->body;
    if (marker == kEoi) return refuse("damaged: it ends before any picture");
    if (marker == 0) return refuse("damaged header: bad marker");
    if (marker == kApp1 && body.size() > 6 && info.orientation == 1 &&
        as_text(body).starts_with(std::string_view("Exif\0\0", 6))) {
      info.orientation = exif_orientation(body.subspan(6));
    } else if (is_start_of_frame(marker)) {
      if (body.size() < 6) return refuse("damaged header: frame segment too short");
      info.bit_depth = byte_at(body, 0);
      info.height = big16(body, 1);
      info.width = big16(body, 3);
      info.components = byte_at(body, 5);
      if (const std::string kind = unsupported_process(marker, info.bit_depth); !kind.empty())
        return refuse_kind(kind);
      if (info.bit_depth != 8) return refuse("damaged header: bad sample precision");
      frame = body;
      progressive = is_progressive(marker);
      if (info.components == 0 || info.components > 4 || body.size() != 6 + 3u * info.components) {
        return refuse("damaged header: bad frame segment");
      }
      if (info.components == 2) return refuse_kind("JPEG of two components");
    } else if (marker == kSos) {
      if (frame.empty()) return refuse("damaged header: a scan before any frame");
      if (!cut && !has_end_mark(file, segment->end))
        return refuse("truncated: no end-of-image marker");
      DecodeCost cost;
      if (progressive || body.empty() || byte_at(body, 0) != info.components) {
        cost = {count_scans(file, segment->begin + 2), coefficient_bytes(info, frame)};
      }
      return accept(info, layout_of(info), cost);
    }
  }
  return refuse(refusal(walk));
}

}  // namespace packhorse::codecs
