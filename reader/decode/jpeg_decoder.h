#pragma once

#include <memory>
#include <span>
#include <vector>

#include "decode/pixels.h"
#include "packhorse/base/bytes.h"
#include "packhorse/image/image_info.h"
#include "packhorse/reader/decode.h"

/// JPEG decoders, one behind the other: each takes the files it is good at and refuses the others.
namespace packhorse::reader {

/// What to decode of a JPEG.
struct JpegTask {
  Bytes file;
  ImageInfo info;  ///< what its header says
  Window window;   ///< of the picture, scaled down; not empty
  int scaled = 1;  ///< to one over 1, 2, 4 or 8 of its sides, rounded up
};

/// Keeps buffers between calls that grow to the largest window decoded, not to the largest picture.
/// One thread.
class JpegDecoder {
 public:
  virtual ~JpegDecoder() = default;
  /// Gives the window to `sink`, with the same pixels as those of libjpeg-turbo's full decode; a
  /// decoder that makes all of it first does so in `buffer`. False: this is no file for this
  /// decoder, and the next is to be asked. Throws Error(kCorrupt) for damage; there is no need to
  /// look for damage outside of what it decodes. Either way, rows may have been given already.
  virtual bool decode(const JpegTask& task, PixelBuffer& buffer, PixelSink& sink) = 0;
  /// Adds what it took and refused, if it is one that counts.
  virtual void count(DecodeCounters& /*counters*/) const {}
  /// Memory it keeps.
  virtual std::size_t kept_bytes() const { return 0; }
};

/// Those there are, in the order in which they are asked. The last one refuses nothing.
std::vector<std::unique_ptr<JpegDecoder>> make_jpeg_decoders();

/// Asks them in turn.
void decode_jpeg(std::span<const std::unique_ptr<JpegDecoder>> decoders, const JpegTask& task,
                 PixelBuffer& buffer, PixelSink& sink);

}  // namespace packhorse::reader
