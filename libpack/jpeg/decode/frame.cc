#include "jpeg/decode/frame.h"

#include <algorithm>
#include <utility>

#include "jpeg/decode/marker_segments.h"
#include "jpeg/decode/roi_layout.h"

namespace packhorse::jpeg {

namespace {

constexpr std::uint32_t kMaxDimension = 65500;  // libjpeg's

}  // namespace

Reason HeaderParser::take(std::uint8_t marker, Bytes body) {
  switch (marker) {
    case kDht:
      return huffman(body);
    case kDqt:
      return quantisation(body);
    case kDri:
      if (body.size() != 2) return Reason::kDamaged;
      frame_.restart_interval = big16(body, 0);
      return Reason::kNone;
    case kApp0:
      return jfif(body);
    case kApp14:
      return adobe(body);
    case kCom:
      return Reason::kNone;
    default:
      break;
  }
  if (marker >= kSof0 && marker <= kSof15) return start_of_frame(marker, body);
  if (marker < kApp0 || marker > kApp15) return Reason::kDamaged;
  if (is_roi_table(marker, body)) {
    ++roi_tables_;
    roi_table_ = body.subspan(RoiTable::kIdentifier.size());
  }
  return Reason::kNone;
}

Reason HeaderParser::huffman(Bytes body) {
  while (!body.empty()) {
    if (body.size() < 17) return Reason::kDamaged;
    const std::uint8_t which = byte_at(body, 0);
    if ((which & 0x0f) > 3 || which > 0x13) return Reason::kDamaged;
    HuffmanSpec& spec = ((which >> 4) != 0 ? frame_.ac : frame_.dc)[which & 3];
    spec = {};
    spec.defined = true;
    std::size_t count = 0;
    for (std::size_t i = 0; i < 16; ++i) count += spec.counts[i] = byte_at(body, 1 + i);
    if (count > 256 || body.size() < 17 + count) return Reason::kDamaged;
    for (std::size_t i = 0; i < count; ++i) spec.symbols[i] = byte_at(body, 17 + i);
    body = body.subspan(17 + count);
  }
  return Reason::kNone;
}

Reason HeaderParser::quantisation(Bytes body) {
  while (!body.empty()) {
    const std::uint8_t which = byte_at(body, 0);
    if ((which & 0x0f) > 3 || which > 0x1f) return Reason::kDamaged;
    if (which > 3) return Reason::kWideTables;
    if (body.size() < 1 + kBlock) return Reason::kDamaged;
    for (std::size_t i = 0; i < kBlock; ++i) {
      frame_.quantisation[which][kZigzag[i]] = byte_at(body, 1 + i);
    }
    quantisation_defined_[which] = true;
    body = body.subspan(1 + kBlock);
  }
  return Reason::kNone;
}

Reason HeaderParser::jfif(Bytes body) {
  if (body.size() < 14 || !as_text(body).starts_with(std::string_view("JFIF\0", 5))) {
    return Reason::kNone;
  }
  jfif_ = true;
  return byte_at(body, 5) == 1 ? Reason::kNone : Reason::kDamaged;  // another version: a warning
}

Reason HeaderParser::adobe(Bytes body) {
  if (body.size() >= 12 && as_text(body).starts_with("Adobe")) adobe_transform_ = byte_at(body, 11);
  return Reason::kNone;
}

Reason HeaderParser::start_of_frame(std::uint8_t marker, Bytes body) {
  if (marker >= kSof9) return Reason::kArithmetic;
  constexpr std::uint8_t kSof2 = 0xc2;
  if (marker > kSof2) return Reason::kProgressive;
  frame_.progressive = marker == kSof2;
  if (frame_seen_ || body.size() < 6) return Reason::kDamaged;
  frame_seen_ = true;
  if (byte_at(body, 0) != 8) return Reason::kTwelveBit;
  frame_.height = big16(body, 1);
  frame_.width = big16(body, 3);
  const std::uint32_t components = byte_at(body, 5);
  if (frame_.height == 0) return Reason::kLines;
  if (frame_.width == 0 || components == 0 || body.size() != 6 + 3 * components ||
      std::max(frame_.width, frame_.height) > kMaxDimension) {
    return Reason::kDamaged;
  }
  if (components != 1 && components != 3) return Reason::kComponents;
  frame_.components = components;
  for (std::size_t i = 0; i < components; ++i) {
    Component& c = frame_.component[i];
    c.id = byte_at(body, 6 + 3 * i);
    c.h = byte_at(body, 7 + 3 * i) >> 4;
    c.v = byte_at(body, 7 + 3 * i) & 15;
    c.quantisation = byte_at(body, 8 + 3 * i);
    if (c.h < 1 || c.h > 4 || c.v < 1 || c.v > 4) return Reason::kDamaged;
  }
  return Reason::kNone;
}

/// Applies libjpeg's rules for the colours of three components.
Reason HeaderParser::colours() const {
  if (frame_.components == 1 || jfif_) return Reason::kNone;
  if (adobe_transform_ >= 0) {
    if (adobe_transform_ > 1) return Reason::kDamaged;
    return adobe_transform_ == 1 ? Reason::kNone : Reason::kRgb;
  }
  const auto& c = frame_.component;
  return c[0].id == 'R' && c[1].id == 'G' && c[2].id == 'B' ? Reason::kRgb : Reason::kNone;
}

Reason HeaderParser::sampling() {
  if (frame_.components == 1) {
    frame_.component[0].h = frame_.component[0].v = 1;  // one block an MCU, whatever it says
  }
  const Component& luma = frame_.component[0];
  if (luma.h > 2 || luma.v > 2) return Reason::kSampling;
  for (std::size_t i = 1; i < frame_.components; ++i) {
    if (frame_.component[i].h != 1 || frame_.component[i].v != 1) return Reason::kSampling;
  }
  frame_.h = luma.h;
  frame_.v = luma.v;
  frame_.blocks_per_mcu = luma.h * luma.v + frame_.components - 1;
  frame_.mcus_per_row = (frame_.width + frame_.mcu_width() - 1) / frame_.mcu_width();
  frame_.mcu_rows = (frame_.height + frame_.mcu_height() - 1) / frame_.mcu_height();
  return Reason::kNone;
}

void HeaderParser::use_roi_table() {
  const std::size_t rows = frame_.mcu_rows;
  if (roi_tables_ != 1 || roi_table_.size() != 2 + 4 * (rows + 1)) return;
  const std::uint32_t interval =
      static_cast<std::uint32_t>(byte_at(roi_table_, 0) | byte_at(roi_table_, 1) << 8);
  if (interval == 0 || interval != frame_.restart_interval || frame_.mcus_per_row % interval != 0) {
    return;
  }
  frame_.row_offsets = roi_table_.subspan(2);
}

Reason HeaderParser::start_of_scan(Bytes body) {
  if (!frame_seen_ || body.empty()) return Reason::kDamaged;
  for (std::size_t i = 0; i < frame_.components; ++i) {
    const Component& c = frame_.component[i];
    if (c.quantisation > 3 || !quantisation_defined_[c.quantisation]) return Reason::kDamaged;
    for (std::size_t j = 0; j < i; ++j)
      if (frame_.component[j].id == c.id) return Reason::kDamaged;
  }
  if (!frame_.progressive)
    if (const Reason reason = only_scan(body); reason != Reason::kNone) return reason;
  if (const Reason reason = colours(); reason != Reason::kNone) return reason;
  if (const Reason reason = sampling(); reason != Reason::kNone) return reason;
  if (!frame_.progressive) use_roi_table();
  return Reason::kNone;
}

/// A scan of all coefficients of all components.
Reason HeaderParser::only_scan(Bytes body) {
  const std::size_t n = byte_at(body, 0);
  if (n < 1 || n > 4 || body.size() != 4 + 2 * n) return Reason::kDamaged;
  if (n != frame_.components) return Reason::kScans;
  for (std::size_t i = 0; i < n; ++i) {
    Component& c = frame_.component[i];
    const std::uint8_t tables = byte_at(body, 2 + 2 * i);
    c.dc = tables >> 4;
    c.ac = tables & 15;
    if (byte_at(body, 1 + 2 * i) != c.id || c.dc > 3 || c.ac > 3 || !frame_.dc[c.dc].defined ||
        !frame_.ac[c.ac].defined) {
      return Reason::kDamaged;
    }
  }
  const std::size_t spectrum = 1 + 2 * n;
  if (byte_at(body, spectrum) != 0 || byte_at(body, spectrum + 1) != kBlock - 1 ||
      byte_at(body, spectrum + 2) != 0) {
    return Reason::kDamaged;
  }
  return Reason::kNone;
}

void scale_frame(Frame& frame, std::uint32_t scale) {
  frame.scale = scale;
  frame.up_h = frame.h;
  frame.up_v = frame.v;
  for (Component& component : frame.component) component.side = 8 / scale;
  if (scale > 1 && frame.h == 2 && frame.v == 2) {
    frame.component[1].side = frame.component[2].side = 16 / scale;
    frame.up_h = frame.up_v = 1;
  }
}

Reason parse_frame(Bytes file, Frame& frame) {
  HeaderParser parser(frame);
  return parse_frame(file, parser, frame);
}

Reason parse_frame(Bytes file, HeaderParser& parser, Frame& frame) {
  if (file.size() < 4 || byte_at(file, 0) != 0xff || byte_at(file, 1) != kSoi)
    return Reason::kDamaged;
  SegmentWalk walk(file);
  while (const std::optional<Segment> segment = walk.next()) {
    if (segment->marker == kSos) {
      frame.scan_header = segment->body;
      frame.scan = segment->end;
      return parser.start_of_scan(segment->body);
    }
    const Reason reason = parser.take(segment->marker, segment->body);
    if (reason != Reason::kNone) return reason;
  }
  return Reason::kDamaged;
}

}  // namespace packhorse::jpeg
