#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "packhorse/base/bytes.h"
#include "packhorse/image/image_info.h"
#include "packhorse/reader/decode.h"
#include "pixels/pixels.h"

/// The chain of JPEG decoders: each takes the files it is good at and refuses the others.
namespace packhorse::reader {

/// What part of a JPEG to decode, and at which scale.
struct JpegTask {
  Bytes file;
  ImageInfo info;  ///< from the JPEG's header
  Window window;   ///< in the scaled-down picture; not empty
  int scaled = 1;  ///< sides are divided by 1, 2, 4 or 8, rounded up
};

/// Keeps buffers between calls; they grow to the largest window decoded, not to the largest
/// picture. One thread.
class JpegDecoder {
 public:
  virtual ~JpegDecoder() = default;
  /// Gives the window to `sink`, with the same pixels as libjpeg-turbo's full decode. A decoder
  /// that makes the whole window first does so in `buffer`. Returns false when it does not take
  /// this file: the next decoder is to be asked. Throws Error(kCorrupt) for damage in what it
  /// decodes; it need not look for damage elsewhere. Whether it returns false or throws, `sink` may
  /// have received rows already.
  virtual bool decode(const JpegTask& task, PixelBuffer& buffer, PixelSink& sink) = 0;
  /// Adds how many files it took and refused, if it counts them.
  virtual void count(DecodeCounters& /*counters*/) const {}
  /// Bytes of memory it keeps between calls.
  virtual std::size_t kept_bytes() const { return 0; }
};

/// All decoders, in the order in which they are asked. The last one refuses nothing.
std::vector<std::unique_ptr<JpegDecoder>> make_jpeg_decoders();

/// Asks the decoders in turn.
void decode_jpeg(std::span<const std::unique_ptr<JpegDecoder>> decoders, const JpegTask& task,
                 PixelBuffer& buffer, PixelSink& sink);

/// A part of a JPEG, as a JPEG of its own.
struct JpegSlice {
  JpegTask task;  ///< `file` lies in the buffer; the window counts from the part's corner
};

/// Copies the restart segments that `task` needs out of a JPEG with a table of its rows
/// (packhorse/roi_layout.h), with the header they need and with renumbered markers. The slice
/// extends beyond the window by the margin that chroma interpolation reads, where the picture
/// continues, so its window has the pixels of a full decode. The entropy-coded data is not decoded
/// here; markers are checked in the rows it copies from, as far as it searches them.
///
/// Returns nothing when the file has no table, when its markers are not where they should be
/// (libjpeg reports that), or when nearly all of the file would be copied.
std::optional<JpegSlice> slice_jpeg(const JpegTask& task, PixelBuffer& buffer);

}  // namespace packhorse::reader
