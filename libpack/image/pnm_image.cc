#include "image/pnm_image.h"

#include <algorithm>
#include <string>

#include "image/probe.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

/// PGM and PPM (P5, P6): any maximum value is scaled to 255, which OpenCV does not do.
class PnmImage final : public DecodedImage {
 public:
  explicit PnmImage(Bytes file) {
    std::string reason = "it does not begin as one";
    const bool begins = sniff_image(file) == ImageKind::kPnm;
    const auto header = begins ? probe::pnm_header(file, reason) : std::nullopt;
    if (!header) throw Error(ErrorKind::kCorrupt, "damaged pnm: " + reason);
    maximum_ = header->maximum;
    depth_ = maximum_ > 255 ? 2 : 1;
    pixels_ = file.data() + header->pixels;
    width = static_cast<int>(header->info.width);
    height = static_cast<int>(header->info.height);
    channels = header->info.components;
    if (depth_ == 2) note = "16 bit scaled to 8";
  }

  void read(int x, int y, int count, std::uint8_t* out) override {
    const auto channel_count = static_cast<std::size_t>(channels);
    const std::size_t first = (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                               static_cast<std::size_t>(x)) *
                              channel_count;
    const std::byte* in = pixels_ + first * depth_;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count) * channel_count; ++i) {
      unsigned value = std::to_integer<unsigned>(*in++);
      if (depth_ == 2) value = value << 8 | std::to_integer<unsigned>(*in++);
      out[i] =
          static_cast<std::uint8_t>((std::min(value, maximum_) * 255 + maximum_ / 2) / maximum_);
    }
  }

 private:
  const std::byte* pixels_ = nullptr;
  unsigned maximum_ = 255;
  std::size_t depth_ = 1;  ///< bytes per sample
};

}  // namespace

std::unique_ptr<DecodedImage> open_pnm(Bytes file) { return std::make_unique<PnmImage>(file); }

}  // namespace packhorse
