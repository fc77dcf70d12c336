#include <libdeflate.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <vector>

#include "codecs/codec.h"
#include "codecs/cursor.h"
#include "codecs/png/png_session.h"

namespace packhorse::codecs {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMostPixelBytes = 8;

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* one) const { libdeflate_free_decompressor(one); }
};

/// The compressed bytes of all IDAT chunks, in `memory` where there are several. Empty where libpng
/// is to be asked: for other sums than there should be, chunks that must be understood, or IDAT in
/// several places.
Bytes compressed(Bytes file, std::vector<std::byte>& memory) {
  const Cursor data(file);
  Bytes all;
  bool ended = false;
  for (std::size_t at = 8;;) {
    const std::size_t length = data.u32(at).value_or(0);
    const std::optional<Bytes> chunk = data.piece(at + 4, length + 4);
    if (!chunk) return {};
    const std::string_view name = as_text(chunk->first(4));
    const bool pixels = name == "IDAT", end = name == "IEND";
    const bool must_be_known = ('A' <= name[0] && name[0] <= 'Z');
    if (must_be_known && !pixels && !end && name != "IHDR" && name != "PLTE") return {};
    if (must_be_known &&
        libdeflate_crc32(0, chunk->data(), chunk->size()) != data.u32(at + 8 + length))
      return {};
    if (end) return length == 0 ? all : Bytes();
    if (pixels && ended) return {};
    if (pixels && all.empty()) {
      all = chunk->subspan(4);
    } else if (pixels) {
      if (memory.empty()) memory.assign(all.begin(), all.end());
      memory.insert(memory.end(), chunk->begin() + 4, chunk->end());
      all = memory;
    }
    ended = !all.empty() && !pixels;
    at += length + 12;
  }
}

std::uint8_t paeth(int a, int b, int c) {
  const int to_a = std::abs(b - c), to_b = std::abs(a - c), to_c = std::abs(a + b - 2 * c);
  const int nearer = to_b <= to_c ? b : c;
  return static_cast<std::uint8_t>(to_a <= to_b && to_a <= to_c ? a : nearer);
}

/// Undoes the filter of a row (ISO/IEC 15948, 9.2) whose pixels have kPixel bytes, which are not
/// more than kMostPixelBytes from its begin to the end of the row before. `above` is that row, or
/// zeros. False for a filter that does not exist.
template <std::size_t kPixel>
bool unfilter(std::uint8_t filter, std::uint8_t* row, const std::uint8_t* above,
              std::size_t bytes) {
  std::uint8_t left[kPixel] = {}, corner[kPixel] = {};
  switch (filter) {
    case 0:
      return true;
    case 1:
      for (std::size_t i = 0; i < bytes; i += kPixel)
        for (std::size_t c = 0; c < kPixel; ++c)
          row[i + c] = left[c] = static_cast<std::uint8_t>(row[i + c] + left[c]);
      return true;
    case 2:
      for (std::size_t i = 0; i < bytes; ++i) row[i] = static_cast<std::uint8_t>(row[i] + above[i]);
      return true;
    case 3:
      for (std::size_t i = 0; i < bytes; i += kPixel)
        for (std::size_t c = 0; c < kPixel; ++c)
          row[i + c] = left[c] =
              static_cast<std::uint8_t>(row[i + c] + (left[c] + above[i + c]) / 2);
      return true;
    case 4:
      for (std::size_t i = 0; i < bytes; i += kPixel) {
        for (std::size_t c = 0; c < kPixel; ++c) {
          const std::uint8_t up = above[i + c];
          row[i + c] = left[c] =
              static_cast<std::uint8_t>(row[i + c] + paeth(left[c], up, corner[c]));
          corner[c] = up;
        }
      }
      return true;
    default:
      return false;
  }
}

using Unfilter = bool (*)(std::uint8_t, std::uint8_t*, const std::uint8_t*, std::size_t);

Unfilter unfilter_for(std::size_t pixel) {
  switch (pixel) {
    case 1:
      return unfilter<1>;
    case 2:
      return unfilter<2>;
    case 3:
      return unfilter<3>;
    case 4:
      return unfilter<4>;
    case 6:
      return unfilter<6>;
    default:
      return unfilter<kMostPixelBytes>;
  }
}

class WholePng final : public PixelRows {
 public:
  WholePng(const ProbeResult& header, const Region& region)
      : height_(header.info->height),
        pixel_(header.layout.pixel_bytes()),
        row_bytes_(header.info->width * pixel_),
        region_(region),
        wide_(header.layout.bits == 16),
        unfilter_(unfilter_for(pixel_)) {}

  /// Decompresses all, and undoes the filters down to the region's end; false where libpng is to
  /// be asked.
  bool decode(Bytes file) {
    std::vector<std::byte> joined;
    const Bytes in = compressed(file, joined);
    if (in.empty()) return false;
    thread_local std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(
        libdeflate_alloc_decompressor());
    const std::size_t bytes = (row_bytes_ + 1) * height_;
    pixels_ = std::make_unique_for_overwrite<std::uint8_t[]>(bytes);
    if (!decompressor ||
        libdeflate_zlib_decompress(decompressor.get(), in.data(), in.size(), pixels_.get(), bytes,
                                   nullptr) != LIBDEFLATE_SUCCESS)
      return false;
    const std::vector<std::uint8_t> zeros(row_bytes_);
    const std::uint8_t* above = zeros.data();
    for (int y = 0; y < region_.y + region_.height; ++y) {
      std::uint8_t* row = row_at(y);
      if (!unfilter_(row[-1], row, above, row_bytes_)) return false;
      above = row;
    }
    if (wide_) swapped_.resize(static_cast<std::size_t>(region_.width) * pixel_);
    return true;
  }

  const std::byte* next() override {
    const std::uint8_t* from =
        row_at(region_.y + y_++) + static_cast<std::size_t>(region_.x) * pixel_;
    if (!wide_) return reinterpret_cast<const std::byte*>(from);
    for (std::size_t i = 0; i < swapped_.size(); i += 2) {
      const auto sample = static_cast<std::uint16_t>(from[i] << 8 | from[i + 1]);
      std::memcpy(swapped_.data() + i, &sample, 2);
    }
    return swapped_.data();
  }

 private:
  /// Behind the byte that names the row's filter.
  std::uint8_t* row_at(int y) const {
    return pixels_.get() + (row_bytes_ + 1) * static_cast<std::size_t>(y) + 1;
  }

  std::size_t height_, pixel_, row_bytes_;
  Region region_;
  bool wide_;
  Unfilter unfilter_;
  int y_ = 0;
  std::unique_ptr<std::uint8_t[]> pixels_;
  std::vector<std::byte> swapped_;  ///< a row of 16 bits, which the file has in the other order
};

/// Decodes most PNGs as a whole, by libdeflate, which is faster than a library that reads rows: not
/// interlaced, 8 or 16 bits, no palette and no transparent colour, up to 64 MiB. Null for any
/// other, and where anything is wrong or unusual: libpng is to be asked then.
std::unique_ptr<PixelRows> open_whole_png(Bytes file, const ProbeResult& header,
                                          const Region& region) {
  const Cursor data(file);
  constexpr std::size_t kColourType = 25, kInterlacing = 28;
  const std::uint32_t type = data.u8(kColourType).value_or(3);
  const std::uint8_t bits = header.info->bit_depth;
  // With a transparent colour there are more channels than the file's samples.
  if (type == 3 || (bits != 8 && bits != 16) || data.u8(kInterlacing) != 0u ||
      header.layout.channels != header.info->components ||
      decoded_bytes(*header.info, header.layout) > kMostBytes)
    return nullptr;
  auto rows = std::make_unique<WholePng>(header, region);
  if (!rows->decode(file)) return nullptr;
  return rows;
}

class PngRows final : public PixelRows {
 public:
  PngRows(Bytes file, const ProbeResult& header, const Region& region)
      : session_(file), height_(header.info->height), pixel_(header.layout.pixel_bytes()) {
    const png_structp png = session_.png();
    const png_infop info = session_.info();
    int passes = 1;
    std::size_t row_bytes = 0;
    require([&] {
      png_read_info(png, info);
      png_set_expand(png);  // palettes, fewer bits than 8, and transparent colours
      if constexpr (std::endian::native == std::endian::little) png_set_swap(png);
      passes = png_set_interlace_handling(png);
      png_read_update_info(png, info);
      row_bytes = png_get_rowbytes(png, info);
    });
    if (png_get_image_width(png, info) != header.info->width ||
        png_get_image_height(png, info) != height_ || row_bytes != header.info->width * pixel_)
      damaged("png", "two headers that differ");
    left_ = static_cast<std::size_t>(region.x) * pixel_;
    if (passes > 1) {
      read_all(row_bytes, region);
    } else {
      pixels_.resize(row_bytes);
      for (int y = 0; y < region.y; ++y) read_row();
    }
  }

  const std::byte* next() override {
    if (rows_.empty()) {
      read_row();
    } else {
      row_ = rows_[y_++];
    }
    return reinterpret_cast<const std::byte*>(row_) + left_;
  }

 private:
  template <class Work>
  void require(const Work& work) {
    if (!session_.run(work)) damaged("png", session_.message());
  }

  void read_row() {
    row_ = pixels_.data();
    require([&] { png_read_row(session_.png(), row_, nullptr); });
    // Damage at the very end shows only when the end is read.
    if (++y_ == height_) require([&] { png_read_end(session_.png(), nullptr); });
  }

  void read_all(std::size_t row_bytes, const Region& region) {
    pixels_.resize(row_bytes * height_);
    rows_.resize(height_);
    for (std::size_t y = 0; y < height_; ++y) rows_[y] = pixels_.data() + y * row_bytes;
    require([&] {
      png_read_image(session_.png(), rows_.data());
      png_read_end(session_.png(), nullptr);
    });
    y_ = static_cast<std::size_t>(region.y);
  }

  PngSession session_;
  std::size_t height_, pixel_;
  std::size_t left_ = 0, y_ = 0;
  std::vector<png_byte> pixels_;  ///< a row, or all of an interlaced picture
  std::vector<png_bytep> rows_;   ///< of an interlaced picture
  png_bytep row_ = nullptr;
};

}  // namespace

std::unique_ptr<PixelRows> open_png(Bytes file, const ProbeResult& header, const Region& region) {
  if (auto rows = open_whole_png(file, header, region)) return rows;
  return std::make_unique<PngRows>(file, header, region);
}

}  // namespace packhorse::codecs
