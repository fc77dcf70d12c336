#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "codecs/codec.h"
#include "codecs/cursor.h"

namespace packhorse::codecs {

/// GIF87a and GIF89a.
namespace gif {

/// What the blocks of a file say; the frame is the first.
struct Header {
  std::uint32_t width = 0, height = 0;  ///< of the screen, or of the frame if that reaches further
  std::uint32_t frames = 0;
  int transparent = -1;  ///< the frame's transparent colour, or -1
};

/// Reads it; nothing when the file is damaged or not whole: `reason` then says why.
std::optional<Header> read(const Cursor& data, std::string& reason);

namespace {

constexpr std::uint32_t kImage = 0x2c, kExtension = 0x21, kTrailer = 0x3b, kGraphicControl = 0xf9;
constexpr std::size_t kScreen = 6, kAfterScreen = 13;

/// Bytes of the colour table that the flags announce.
std::size_t table_bytes(std::uint32_t flags) {
  return (flags & 0x80) != 0 ? std::size_t{3} << ((flags & 7) + 1) : 0;
}

/// Passes over sub-blocks to behind the empty one; false at the end of the file.
bool skip_blocks(const Cursor& data, std::size_t& at) {
  for (;;) {
    const std::optional<std::uint32_t> length = data.u8(at);
    if (!length) return false;
    at += 1 + std::size_t{*length};
    if (*length == 0) return true;
  }
}

}  // namespace

std::optional<Header> read(const Cursor& data, std::string& reason) {
  reason = "truncated: its blocks reach beyond the end of the file";
  if (!data.piece(0, kAfterScreen)) return std::nullopt;
  Header header;
  header.width = *data.u16(kScreen);
  header.height = *data.u16(kScreen + 2);
  std::size_t at = kAfterScreen + table_bytes(*data.u8(kScreen + 4));
  int transparent = -1;
  for (;;) {
    const std::optional<std::uint32_t> block = data.u8(at++);
    if (!block) return std::nullopt;
    if (*block == kTrailer) break;
    if (*block == kImage) {
      if (!data.piece(at, 9)) return std::nullopt;
      if (header.frames++ == 0) {
        header.width = std::max(header.width, *data.u16(at) + *data.u16(at + 4));
        header.height = std::max(header.height, *data.u16(at + 2) + *data.u16(at + 6));
        header.transparent = transparent;
      }
      at += 10 + table_bytes(*data.u8(at + 8));  // and the size of its codes
    } else if (*block == kExtension) {
      if (data.u8(at) == kGraphicControl && data.u8(at + 1) == 4u)
        transparent = (data.u8(at + 2).value_or(0) & 1) != 0
                          ? static_cast<int>(data.u8(at + 5).value_or(0))
                          : -1;
      ++at;
    } else {
      reason = "damaged: an unknown block";
      return std::nullopt;
    }
    if (!skip_blocks(data, at)) return std::nullopt;
  }
  reason = "damaged: no picture in it";
  if (header.frames == 0) return std::nullopt;
  return header;
}

}  // namespace gif

ProbeResult read_gif_header(Bytes file, bool) {
  std::string reason;
  const std::optional<gif::Header> header = gif::read(Cursor(file, false), reason);
  if (!header) return refuse(std::move(reason));
  const bool alpha = header->transparent >= 0;
  ImageInfo info;
  info.width = header->width;
  info.height = header->height;
  info.components = alpha ? 4 : 3;
  PixelLayout layout;
  if (alpha) layout = {ColourModel::kRgb, Alpha::kStraight, 4, 8};
  return accept(info, layout, {1, decoded_bytes(info, layout)}, header->frames);
}

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
