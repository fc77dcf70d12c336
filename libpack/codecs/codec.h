#pragma once

#include <memory>
#include <string>

#include "codecs/colour_rows.h"
#include "packhorse/base/error.h"

/// Private to libpack/codecs: what each kind of image provides.
namespace packhorse::codecs {

/// Gives the rows of a region from the top, as the kind's PixelLayout says. One thread.
class PixelRows {
 public:
  virtual ~PixelRows() = default;
  /// The row below the last one, of the region's columns: samples interleaved, numbers as this
  /// machine has them, aligned for them; valid until the next call.
  virtual const std::byte* next() = 0;
};

/// A kind of image, apart from JPEG's pixels, which open_jpeg() opens, and raw ones.
struct Codec {
  ImageKind kind;
  const char* title;
  ProbeResult (*read_header)(Bytes file, bool cut);  ///< as probe_image()
  /// Opens a region, which lies in the picture, of a file with this header. Throws Error(kCorrupt).
  std::unique_ptr<PixelRows> (*open)(Bytes file, const ProbeResult& header, const Region& region);
  /// Why files of this kind cannot be decoded here; empty when they can. Null: they always can.
  std::string (*why_not)() = nullptr;
};

ProbeResult read_jpeg_header(Bytes file, bool cut);
ProbeResult read_png_header(Bytes file, bool cut);
ProbeResult read_webp_header(Bytes file, bool cut);
ProbeResult read_bmp_header(Bytes file, bool cut);
ProbeResult read_tiff_header(Bytes file, bool cut);
ProbeResult read_pnm_header(Bytes file, bool cut);
ProbeResult read_gif_header(Bytes file, bool cut);
ProbeResult read_avif_header(Bytes file, bool cut);
ProbeResult read_heic_header(Bytes file, bool cut);
ProbeResult read_jxl_header(Bytes file, bool cut);
ProbeResult read_npy_header(Bytes file, bool cut);
std::unique_ptr<PixelRows> open_png(Bytes file, const ProbeResult&, const Region&);
std::unique_ptr<PixelRows> open_webp(Bytes file, const ProbeResult&, const Region&);
std::unique_ptr<PixelRows> open_bmp(Bytes file, const ProbeResult&, const Region&);
std::unique_ptr<PixelRows> open_tiff(Bytes file, const ProbeResult&, const Region&);
std::unique_ptr<PixelRows> open_pnm(Bytes file, const ProbeResult&, const Region&);
std::unique_ptr<PixelRows> open_gif(Bytes file, const ProbeResult&, const Region&);
std::unique_ptr<PixelRows> open_avif(Bytes file, const ProbeResult&, const Region&);
std::unique_ptr<PixelRows> open_heic(Bytes file, const ProbeResult&, const Region&);
std::unique_ptr<PixelRows> open_jxl(Bytes file, const ProbeResult&, const Region&);
std::unique_ptr<PixelRows> open_npy(Bytes file, const ProbeResult&, const Region&);
std::string why_no_avif();
std::string why_no_heic();
std::string why_no_jxl();

/// Null for a kind that has no codec.
const Codec* find_codec(ImageKind kind);
/// "TIFF", "raw pixels".
std::string title_of(ImageKind kind);

/// The header of a file to be decoded, of any kind but JPEG; for raw pixels, what `info` says of
/// them. Throws Error(kCorrupt) where it is not what `info` says.
ProbeResult header_to_open(Bytes file, const ImageInfo& info);
/// Makes the header of the first page that of a picture of all pages' bands. Returns why it cannot
/// be; empty when it is done.
std::string take_pages_as_bands(ProbeResult& header);
/// Whether `info` describes a picture whose bands are the pages of the TIFF with this header.
inline bool has_bands_in_pages(const ProbeResult& header, const ImageInfo& info) {
  return info.kind == ImageKind::kTiff && header.pictures > 1 &&
         info.components != header.info->components;
}
/// The region, or all of the picture where it is empty.
Region region_of(const Region& region, const ImageInfo& info);
/// Opens a region of a picture of any kind but JPEG. Throws Error(kCorrupt).
struct OpenedPixels {
  std::unique_ptr<PixelRows> rows;
  PixelLayout layout;
};
OpenedPixels open_pixels(Bytes file, const ImageInfo& info, const Region& region);

/// Throws Error(kCorrupt): "damaged <kind>: <what>".
[[noreturn]] inline void damaged(const char* kind, const std::string& what) {
  throw Error(ErrorKind::kCorrupt, std::string("damaged ") + kind + ": " + what);
}

/// Rows of a region of a picture that has been decoded as a whole, or of what holds the region.
class DecodedRows : public PixelRows {
 public:
  const std::byte* next() override {
    const std::byte* row = at_;
    at_ += stride_;
    return row;
  }

 protected:
  /// The region begins at `at`; rows are `stride` bytes apart.
  void start(const std::byte* at, std::size_t stride) {
    at_ = at;
    stride_ = stride;
  }

 private:
  const std::byte* at_ = nullptr;
  std::size_t stride_ = 0;
};

/// open_colours() for a JPEG, by libjpeg-turbo. The pixels of a region are those of the whole.
std::unique_ptr<ColourRows> open_jpeg(Bytes file, const ImageInfo& info,
                                      const ColourRequest& request);

}  // namespace packhorse::codecs
