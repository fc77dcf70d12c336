#include "jpeg/decode/rows.h"

namespace packhorse::jpeg {

RowWriter::RowWriter(RowSink& sink, const Window& window, Buffer<std::uint8_t>& memory)
    : sink_(&sink), stride_(std::size_t{3} * window.width), left_(window.height) {
  band_ = next_ = memory.reserve(stride_ * kBand + RowSink::kSlack);
}

void RowWriter::hand_over() {
  sink_->take(band_, stride_, held_);
  next_ = band_;
  left_ -= held_;
  held_ = 0;
}

}  // namespace packhorse::jpeg
