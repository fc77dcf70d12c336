// HEIC by libheif, which also knows what its decoders can do: it reads the header, too. Its coded
// pictures are decoded by hevc_decoder.h.
#if defined(PACKHORSE_LIBHEIF) && defined(PACKHORSE_LIBDE265)
#include "codecs/heic/hevc_decoder.h"
#include "codecs/heic/item_references.h"
#include "codecs/heic/libheif.h"
#endif

#include <algorithm>
#include <atomic>
#include <new>
#include <vector>

#include "codecs/codec.h"
#include "codecs/cursor.h"
#include "codecs/shared_library.h"

namespace packhorse::codecs {

#if defined(PACKHORSE_LIBHEIF) && defined(PACKHORSE_LIBDE265)

Heif::Heif() {
  why_not = library.loaded() ? why_no_hevc() : library.why_not();
  if (why_not.empty() && add_decoder(&kHevcDecoder).code != heif_error_Ok)
    why_not = std::string(PACKHORSE_LIBHEIF) + " takes no decoder but its own";
}

const Heif& heif() {
  static const Heif kHeif;
  return kHeif;
}

namespace {

/// The picture that a file shows, whose header has been read.
class Picture {
 public:
  explicit Picture(Bytes file) : context_(heif().alloc()) {
    if (context_ == nullptr) throw std::bad_alloc();
    heif().set_threads(context_, 0);
    if (!has_few_levels(file)) {
      error_ = {heif_error_Invalid_input, heif_suberror_Unspecified,
                "its pictures are made of each other, or over too many levels"};
      return;
    }
    error_ = heif().read(context_, file.data(), file.size(), nullptr);
    if (error_.code == heif_error_Ok) error_ = heif().primary(context_, &handle_);
  }
  ~Picture() {
    if (handle_ != nullptr) heif().release_handle(handle_);
    heif().free(context_);
  }
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;

  heif_context* context() const { return context_; }
  heif_image_handle* handle() const { return handle_; }
  const heif_error& error() const { return error_; }

 private:
  heif_context* context_;
  heif_image_handle* handle_ = nullptr;
  heif_error error_{};
};

/// The pixels before it is cut to what it shows.
std::uint64_t coded_pixels(const Picture& picture) {
  const auto side = [](int length) { return static_cast<std::uint64_t>(std::max(length, 0)); };
  return side(heif().coded_width(picture.handle())) * side(heif().coded_height(picture.handle()));
}

struct Release {
  void operator()(heif_image* image) const { heif().release(image); }
};
using Image = std::unique_ptr<heif_image, Release>;

/// Decodes to planes: what else libheif makes of them, it makes without a look at the size of the
/// alpha.
Image decode(const Picture& picture, bool turned) {
  heif_decoding_options* options = heif().make_options();
  if (options == nullptr) throw std::bad_alloc();
  options->ignore_transformations = turned ? 0 : 1;
  heif_image* made = nullptr;
  const heif_error error =
      heif().decode(picture.handle(), &made, heif_colorspace_RGB, heif_chroma_444, options);
  heif().free_options(options);
  if (error.code != heif_error_Ok) damaged("heic", error.message);
  return Image(made);
}

/// A channel of a decoded picture.
struct Channel {
  const std::uint8_t* samples = nullptr;
  std::ptrdiff_t stride = 0;
  int width = 0, height = 0, bits = 0;

  std::uint32_t at(int x, int y) const {
    const std::uint8_t* row = samples + y * stride;
    return bits == 8 ? row[x] : reinterpret_cast<const std::uint16_t*>(row)[x];
  }
};

std::vector<Channel> channels_of(heif_image* image, std::size_t count) {
  constexpr heif_channel kChannels[] = {heif_channel_R, heif_channel_G, heif_channel_B,
                                        heif_channel_Alpha};
  std::vector<Channel> channels(count);
  for (std::size_t i = 0; i < count; ++i) {
    Channel& channel = channels[i];
    int stride = 0;
    channel.samples = heif().plane(image, kChannels[i], &stride);
    channel.stride = stride;
    channel.width = heif().image_width(image, kChannels[i]);
    channel.height = heif().image_height(image, kChannels[i]);
    channel.bits = heif().image_bits(image, kChannels[i]);
    if (channel.samples == nullptr || channel.width != channels[0].width ||
        channel.height != channels[0].height)
      damaged("heic", "its colours and its alpha have unlike sizes");
    if (channel.bits < 8 || channel.bits > 16)
      damaged("heic", "samples of " + std::to_string(channel.bits) + " bits");
  }
  return channels;
}

/// Whether the painted channel is made of tiles, each `step` pictures after the one before.
bool is_tiled(const Channel& channel, const CodedPictures::Picture& tile, unsigned first,
              unsigned step) {
  const int across = (channel.width + tile.width - 1) / tile.width;
  for (int y = 0; y < channel.height; ++y) {
    for (int x = 0; x < channel.width; ++x) {
      const int number = y / tile.height * across + x / tile.width;
      if (channel.at(x, y) != (first + static_cast<unsigned>(number) * step) % 256) return false;
    }
  }
  return true;
}

/// libheif does not look whether the tiles of a grid cover it, nor whether they have the size that
/// the file says: parts of a picture could be what was in memory.
void check_tiles(const Picture& picture, CodedPictures& coded, bool alpha) {
  const auto bad = [] { damaged("heic", "its tiles do not make up the picture"); };
  static std::atomic<unsigned> times = 0;  // other numbers each time: memory may hold the last ones
  const auto painted = [&](std::size_t channels, bool turned, const auto& check) {
    const unsigned first = times++ % 256;
    coded.paint(first);
    const Image image = decode(picture, turned);
    check(channels_of(image.get(), channels), first);
  };
  const CodedPictures::Picture tile = coded.decoded().front();
  const auto pictures = static_cast<unsigned>(coded.decoded().size());
  unsigned to_alpha = alpha ? pictures / 2 : 0;  // from a tile to that of its alpha
  painted(3, false, [&](const std::vector<Channel>& channels, unsigned first) {
    if (is_tiled(channels[0], tile, first, 1)) return;
    if (!alpha || !is_tiled(channels[0], tile, first, 2)) bad();
    to_alpha = 1;
  });
  if (!alpha) return;
  painted(4, true, [&](const std::vector<Channel>& channels, unsigned) {
    for (int y = 0; y < channels[0].height; ++y)
      for (int x = 0; x < channels[0].width; ++x)
        if (channels[3].at(x, y) != (channels[0].at(x, y) + to_alpha) % 256) bad();
  });
}

class HeicRows final : public PixelRows {
 public:
  HeicRows(Bytes file, const ProbeResult& header, const Region& region)
      : region_(region), channels_(header.layout.channels), wide_(header.layout.bits == 16) {
    const Quiet quiet;
    const Picture picture(file);
    if (picture.error().code != heif_error_Ok) damaged("heic", picture.error().message);
    CodedPictures coded(coded_pixels(picture));
    image_ = decode(picture, true);
    planes_ = channels_of(image_.get(), channels_);
    if (planes_[0].width != static_cast<int>(header.info->width) ||
        planes_[0].height != static_cast<int>(header.info->height))
      damaged("heic", "its picture has another size than its header says");
    if (coded.decoded().empty()) damaged("heic", "its picture is not coded as HEVC");
    const auto is_whole = [&](const CodedPictures::Picture& one) {
      return one.width == heif().coded_width(picture.handle()) &&
             one.height == heif().coded_height(picture.handle());
    };
    if (!std::ranges::all_of(coded.decoded(), is_whole))
      check_tiles(picture, coded, channels_ == 4);
    row_.resize(
        (std::size_t{static_cast<unsigned>(region.width)} * channels_ * (wide_ ? 2 : 1) + 1) / 2);
  }

  const std::byte* next() override {
    if (wide_)
      fill(row_.data(), 65535);
    else
      fill(reinterpret_cast<std::uint8_t*>(row_.data()), 255);
    ++y_;
    return reinterpret_cast<const std::byte*>(row_.data());
  }

 private:
  /// Scales samples to all that the type can hold, as all codecs do.
  template <class Sample>
  void fill(Sample* row, std::uint32_t full) const {
    for (std::size_t i = 0; i < channels_; ++i) {
      const Channel& channel = planes_[i];
      const std::uint32_t most = (1u << channel.bits) - 1;
      for (int x = 0; x < region_.width; ++x) {
        const std::uint32_t value = channel.at(region_.x + x, region_.y + y_);
        row[static_cast<std::size_t>(x) * channels_ + i] =
            static_cast<Sample>(most == full ? value : (value * full + most / 2) / most);
      }
    }
  }

  const Region region_;
  const std::size_t channels_;
  const bool wide_;
  Image image_;
  std::vector<Channel> planes_;
  std::vector<std::uint16_t> row_;
  int y_ = 0;
};

}  // namespace

std::string why_no_heic() { return heif().why_not; }

ProbeResult read_heic_header(Bytes file, bool) {
  if (const std::string why = why_no_heic(); !why.empty()) return refuse_kind("HEIC: " + why);
  const Quiet quiet;
  const Picture picture(file);
  const heif_error& error = picture.error();
  if (error.code != heif_error_Ok) return refuse(std::string("damaged header: ") + error.message);
  ImageInfo info;  // its size as it is shown: libheif turns and mirrors
  info.width = static_cast<std::uint32_t>(std::max(heif().width(picture.handle()), 0));
  info.height = static_cast<std::uint32_t>(std::max(heif().height(picture.handle()), 0));
  const int bits = heif().bits(picture.handle());
  if (bits < 8 || bits > 16) return refuse_kind("HEIC of " + std::to_string(bits) + " bits");
  info.bit_depth = static_cast<std::uint8_t>(bits);
  const bool alpha = heif().has_alpha(picture.handle()) != 0;
  info.components = alpha ? 4 : 3;
  PixelLayout layout;
  layout.channels = info.components;
  if (alpha) {
    layout.alpha =
        heif().is_premultiplied(picture.handle()) != 0 ? Alpha::kPremultiplied : Alpha::kStraight;
  }
  layout.bits = bits > 8 ? 16 : 8;
  const std::uint64_t coded_bytes = product(coded_pixels(picture), layout.pixel_bytes());
  return accept(info, layout, {1, product(2, std::max(coded_bytes, decoded_bytes(info, layout)))},
                static_cast<std::uint32_t>(std::max(heif().pictures(picture.context()), 1)));
}

std::unique_ptr<PixelRows> open_heic(Bytes file, const ProbeResult& header, const Region& region) {
  return std::make_unique<HeicRows>(file, header, region);
}

#else

std::string why_no_heic() { return SharedLibrary("").why_not(); }
ProbeResult read_heic_header(Bytes, bool) { return refuse_kind("HEIC: " + why_no_heic()); }
std::unique_ptr<PixelRows> open_heic(Bytes, const ProbeResult&, const Region&) {
  throw Error(ErrorKind::kUnsupported, "HEIC: " + why_no_heic());
}

#endif

}  // namespace packhorse::codecs
