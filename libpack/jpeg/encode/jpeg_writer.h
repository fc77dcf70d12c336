#pragma once

#include <vector>

#include "jpeg/encode/scan_coder.h"
#include "packhorse/base/bytes.h"

/// A JPEG file around a coded scan.
namespace packhorse::encode {

/// A segment to be written as it is: an APPn or a comment.
struct Marker {
  std::uint8_t marker;
  Bytes body;
};

/// Replaces `out` with SOI, `markers` in their order, the table of roi_layout.h, DQT, the frame
/// header, DHT, DRI, SOS, the data of `coder` (which must be finished) and EOI.
void write_jpeg(const Frame& frame, const std::vector<Marker>& markers, const ScanCoder& coder,
                std::vector<std::byte>& out);

}  // namespace packhorse::encode
