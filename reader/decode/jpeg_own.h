#pragma once

#include "decode/jpeg_decoder.h"
#include "packhorse/jpeg/decoder.h"

namespace packhorse::reader {

/// Decodes with packhorse::jpeg, which takes most photos. Refuses damaged files too: libjpeg says
/// what is wrong with them.
class OwnDecoder : public JpegDecoder {
 public:
  bool decode(const JpegTask& task, PixelBuffer& buffer, PixelSink& sink) override;
  void count(DecodeCounters& counters) const override;
  std::size_t kept_bytes() const override { return scratch_.kept_bytes(); }

 private:
  jpeg::Scratch scratch_;
  DecodeCounters counters_;
};

}  // namespace packhorse::reader
