#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "codecs/gif/gif_header.h"

namespace packhorse::codecs {

namespace {

struct Close {
  void operator()(GifFileType* file) const { DGifCloseFile(file, nullptr); }
};

/// The first frame, on the screen.
class GifRows final : public DecodedRows {
 public:
  GifRows(Bytes file, const gif::Header& header, const Region& region)
      : rest_(file), header_(header), channels_(header.transparent >= 0 ? 4 : 3) {
    int code = 0;
    gif_.reset(DGifOpen(this, give_bytes, &code));
    if (!gif_) refuse(code);
    find_frame();
    decode();
    const std::size_t stride = std::size_t{header.width} * channels_;
    start(pixels_.data() + static_cast<std::size_t>(region.y) * stride +
              static_cast<std::size_t>(region.x) * channels_,
          stride);
  }

 private:
  static int give_bytes(GifFileType* gif, GifByteType* to, int count) {
    Bytes& rest = static_cast<GifRows*>(gif->UserData)->rest_;
    const std::size_t size = std::min(rest.size(), static_cast<std::size_t>(std::max(count, 0)));
    if (size > 0) std::memcpy(to, rest.data(), size);
    rest = rest.subspan(size);
    return static_cast<int>(size);
  }

  [[noreturn]] static void refuse(int code) {
    const char* why = GifErrorString(code);
    damaged("gif", why != nullptr ? why : "it cannot be read");
  }
  void require(int result) const {
    if (result == GIF_ERROR) refuse(gif_->Error);
  }

  /// Reads up to the first frame's pixels.
  void find_frame() {
    for (GifRecordType type = UNDEFINED_RECORD_TYPE; type != IMAGE_DESC_RECORD_TYPE;) {
      require(DGifGetRecordType(gif_.get(), &type));
      if (type == IMAGE_DESC_RECORD_TYPE) break;
      if (type != EXTENSION_RECORD_TYPE) damaged("gif", "no picture in it");
      int kind = 0;
      GifByteType* block = nullptr;
      require(DGifGetExtension(gif_.get(), &kind, &block));
      while (block != nullptr) require(DGifGetExtensionNext(gif_.get(), &block));
    }
    require(DGifGetImageDesc(gif_.get()));
    const GifImageDesc& frame = gif_->Image;
    if (frame.Left < 0 || frame.Top < 0 || frame.Width < 0 || frame.Height < 0 ||
        static_cast<std::uint32_t>(frame.Left + frame.Width) > header_.width ||
        static_cast<std::uint32_t>(frame.Top + frame.Height) > header_.height)
      damaged("gif", "two readings of its header differ");
  }

  void decode() {
    read_palette();
    pixels_.resize(std::size_t{header_.width} * header_.height * channels_);
    // Where the frame is not: the transparent colour, or the first.
    const int behind = std::max(header_.transparent, 0);
    const std::size_t pixels = std::size_t{header_.width} * header_.height;
    for (std::size_t i = 0; i < pixels; ++i) put(behind, pixels_.data() + i * channels_);
    const GifImageDesc& frame = gif_->Image;
    std::vector<GifPixelType> line(static_cast<std::size_t>(frame.Width));
    struct Pass {
      int first, step;
    };
    constexpr std::array kInterlaced = {Pass{0, 8}, Pass{4, 8}, Pass{2, 4}, Pass{1, 2}};
    constexpr std::array kPlain = {Pass{0, 1}};
    const std::span<const Pass> passes =
        frame.Interlace ? std::span<const Pass>(kInterlaced) : std::span<const Pass>(kPlain);
    for (const Pass& pass : passes) {
      for (int y = pass.first; y < frame.Height && frame.Width > 0; y += pass.step) {
        require(DGifGetLine(gif_.get(), line.data(), frame.Width));
        std::byte* to = pixels_.data() + (static_cast<std::size_t>(frame.Top + y) * header_.width +
                                          static_cast<std::size_t>(frame.Left)) *
                                             channels_;
        for (const GifPixelType colour : line) {
          put(colour, to);
          to += channels_;
        }
      }
    }
  }

  /// The frame's own, or that of all; grey where there is none; black for what it does not have.
  void read_palette() {
    const ColorMapObject* map =
        gif_->Image.ColorMap != nullptr ? gif_->Image.ColorMap : gif_->SColorMap;
    for (std::size_t i = 0; i < palette_.size(); ++i) {
      if (map == nullptr) {
        palette_[i].fill(static_cast<std::byte>(i));
      } else if (i < static_cast<std::size_t>(map->ColorCount)) {
        const GifColorType& colour = map->Colors[i];
        palette_[i] = {std::byte{colour.Red}, std::byte{colour.Green}, std::byte{colour.Blue}};
      }
    }
  }

  void put(int colour, std::byte* to) const {
    std::memcpy(to, palette_[static_cast<std::size_t>(colour)].data(), 3);
    if (channels_ == 4) to[3] = std::byte(colour == header_.transparent ? 0 : 255);
  }

  Bytes rest_;
  gif::Header header_;
  std::size_t channels_;
  std::unique_ptr<GifFileType, Close> gif_;
  std::array<std::array<std::byte, 3>, 256> palette_{};
  std::vector<std::byte> pixels_;
};

}  // namespace

std::unique_ptr<PixelRows> open_gif(Bytes file, const ProbeResult& header, const Region& region) {
  std::string reason;
  const std::optional<gif::Header> found = gif::read(Cursor(file, false), reason);
  if (!found || found->width != header.info->width || found->height != header.info->height)
    damaged("gif", "its header");
  return std::make_unique<GifRows>(file, *found, region);
}

}  // namespace packhorse::codecs
