#include <libdeflate.h>
#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "codecs/codec.h"
#include "codecs/tiff/tiff_header.h"

namespace packhorse::codecs {

namespace {

constexpr tmsize_t kMostMemory = tmsize_t{1} << 30;  // for one of libtiff's allocations

/// A file in memory, as libtiff's callbacks see it, and what libtiff complained about.
struct TiffInput {
  Bytes file;
  std::uint64_t at = 0;
  std::array<char, 160> message{};

  static TiffInput& of(thandle_t handle) { return *static_cast<TiffInput*>(handle); }

  static tmsize_t read(thandle_t handle, void* to, tmsize_t size) {
    TiffInput& input = of(handle);
    const std::uint64_t left =
        input.file.size() - std::min<std::uint64_t>(input.at, input.file.size());
    const std::uint64_t count = std::min<std::uint64_t>(left, static_cast<std::uint64_t>(size));
    if (count > 0) std::memcpy(to, input.file.data() + input.at, count);
    input.at += count;
    return static_cast<tmsize_t>(count);
  }
  static tmsize_t write(thandle_t, void*, tmsize_t) { return 0; }
  static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    TiffInput& input = of(handle);
    input.at = (whence == SEEK_CUR   ? input.at
                : whence == SEEK_END ? input.file.size()
                                     : 0) +
               offset;
    return input.at;
  }
  static int close(thandle_t) { return 0; }
  static toff_t size(thandle_t handle) { return of(handle).file.size(); }
  static int map(thandle_t handle, void** base, toff_t* size) {
    const Bytes file = of(handle).file;
    *base = const_cast<std::byte*>(file.data());  // libtiff does not write into what it maps
    *size = file.size();
    return 1;
  }
  static void unmap(thandle_t, void*, toff_t) {}

  /// Keeps the first message alone: what follows is mostly its consequence.
  void complain(const char* format, std::va_list values) {
    if (message[0] == '\0') std::vsnprintf(message.data(), message.size(), format, values);
  }
};

#if TIFFLIB_VERSION >= 20221213
int keep_complaint(TIFF*, void* input, const char*, const char* format, std::va_list values) {
  static_cast<TiffInput*>(input)->complain(format, values);
  return 1;  // no other handler is asked
}
#else
/// Whose file libtiff reads in this thread: the handle may be somebody else's, and anything.
thread_local TiffInput* current = nullptr;

void keep_complaint(thandle_t input, const char*, const char* format, std::va_list values) {
  if (current != nullptr && input == current) current->complain(format, values);
}
#endif

TIFF* open_with_libtiff(TiffInput& input) {
  constexpr const char* kMode = "rh";  // the header alone: the directory is chosen later
#if TIFFLIB_VERSION >= 20221213
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  if (options == nullptr) throw std::bad_alloc();
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, kMostMemory);
  TIFFOpenOptionsSetErrorHandlerExtR(options, keep_complaint, &input);
  TIFFOpenOptionsSetWarningHandlerExtR(options, keep_complaint, &input);
  TIFF* tiff = TIFFClientOpenExt("", kMode, &input, TiffInput::read, TiffInput::write,
                                 TiffInput::seek, TiffInput::close, TiffInput::size, TiffInput::map,
                                 TiffInput::unmap, options);
  TIFFOpenOptionsFree(options);
  return tiff;
#else
  // Older versions have handlers for the whole process alone.
  static const bool kQuiet = [] {
    TIFFSetErrorHandler(nullptr);
    TIFFSetWarningHandler(nullptr);
    TIFFSetErrorHandlerExt(keep_complaint);
    TIFFSetWarningHandlerExt(keep_complaint);
    return true;
  }();
  static_cast<void>(kQuiet);
  current = &input;
  return TIFFClientOpen("", kMode, &input, TiffInput::read, TiffInput::write, TiffInput::seek,
                        TiffInput::close, TiffInput::size, TiffInput::map, TiffInput::unmap);
#endif
}

/// Samples of 1 to 16 bits without gaps between them, the highest bit first.
class BitReader {
 public:
  BitReader(const std::uint8_t* bytes, std::size_t first_bit)
      : bytes_(bytes + first_bit / 8), bit_(static_cast<unsigned>(first_bit % 8)) {}
  unsigned next(unsigned bits) {
    std::uint32_t value = 0;
    for (unsigned taken = 0; taken < bits;) {
      const unsigned here = std::min(8 - bit_, bits - taken);
      value = value << here | ((*bytes_ >> (8 - bit_ - here)) & ((1u << here) - 1));
      bit_ += here;
      taken += here;
      if (bit_ == 8) {
        ++bytes_;
        bit_ = 0;
      }
    }
    return value;
  }

 private:
  const std::uint8_t* bytes_;
  unsigned bit_;
};

/// Decompresses a strip or tile that deflate was used for. Fails where there are more or fewer
/// bytes than there is room for: libtiff is to be asked then, with zlib. With libdeflate, libtiff
/// 4.5 takes more bytes for success, though not all of the room has been written to.
class Inflater {
 public:
  Inflater() : decompressor_(libdeflate_alloc_decompressor()) {}
  bool run(Bytes in, std::uint8_t* to, std::size_t bytes) const {
    return decompressor_ && libdeflate_zlib_decompress(decompressor_.get(), in.data(), in.size(),
                                                       to, bytes, nullptr) == LIBDEFLATE_SUCCESS;
  }

 private:
  struct Free {
    void operator()(libdeflate_decompressor* one) const { libdeflate_free_decompressor(one); }
  };
  std::unique_ptr<libdeflate_decompressor, Free> decompressor_;
};

/// Undoes the horizontal predictor (TIFF 6.0, section 14) in a row of `count` samples, `step` of
/// which make a pixel.
template <class Sample>
void add_differences(std::uint8_t* row, std::size_t count, std::size_t step) {
  const auto at = [row](std::size_t i) {
    Sample sample;
    std::memcpy(&sample, row + i * sizeof sample, sizeof sample);
    return sample;
  };
  for (std::size_t i = step; i < count; ++i) {
    const auto sum = static_cast<Sample>(at(i - step) + at(i));
    std::memcpy(row + i * sizeof sum, &sum, sizeof sum);
  }
}

class TiffRows final : public PixelRows {
 public:
  /// `info` and `layout` of the page in this directory.
  TiffRows(Bytes file, const tiff::Directory& page, const ImageInfo& info,
           const PixelLayout& layout, const Region& region)
      : input_{file}, info_(info), layout_(layout), region_(region), y_(region.y) {
    picture_ = tiff::read_picture(page);
    if (!(picture_.info == info_)) damaged("tiff", "two headers that differ");
    if (picture_.photometric == tiff::kPalette) read_palette(page);
    tiff_.reset(open_with_libtiff(input_));
    if (!tiff_ || TIFFSetSubDirectory(tiff_.get(), picture_.directory) == 0) refuse();
    check_fields();
    input_.message[0] = '\0';  // of the directory: what matters of it has been checked
    find_blocks();
    prepare_to_inflate();
    row_.resize(static_cast<std::size_t>(region.width) * layout_.pixel_bytes());
  }

  const std::byte* next() override {
    const int row_of_blocks = y_ / block_height_;
#if TIFFLIB_VERSION < 20221213
    current = &input_;
#endif
    if (row_of_blocks != loaded_) load(row_of_blocks);
    const int y = y_++ % block_height_;
    for (int i = 0; i < blocks_; ++i) unpack(i, y);
    // Bands are none of these, whatever the tag says, which may be missing.
    if (layout_.model != ColourModel::kBands &&
        (picture_.photometric == tiff::kWhiteIsZero || picture_.photometric == tiff::kSeparated))
      invert();
    return row_.data();
  }

 private:
  struct Close {
    void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  };

  [[noreturn]] void refuse() const {
    damaged("tiff", input_.message[0] != '\0' ? input_.message.data() : "it cannot be read");
  }

  /// 0 where the tag is missing and has no default, as our own reader has it.
  std::uint32_t field(std::uint32_t tag) const {
    std::uint16_t value = 0;
    TIFFGetFieldDefaulted(tiff_.get(), tag, &value);
    return value;
  }

  /// libtiff must have read what our own reader of headers has read, and has checked.
  void check_fields() {
    std::uint32_t width = 0, height = 0;
    TIFFGetField(tiff_.get(), TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(tiff_.get(), TIFFTAG_IMAGELENGTH, &height);
    if (width != info_.width || height != info_.height ||
        field(TIFFTAG_SAMPLESPERPIXEL) != picture_.samples ||
        field(TIFFTAG_BITSPERSAMPLE) != picture_.bits ||
        field(TIFFTAG_PHOTOMETRIC) != picture_.photometric ||
        field(TIFFTAG_PLANARCONFIG) != picture_.planar ||
        field(TIFFTAG_COMPRESSION) != picture_.compression ||
        field(TIFFTAG_ORIENTATION) != info_.orientation)
      damaged("tiff", "two readings of its header differ");
    if (TIFFIsCODECConfigured(static_cast<std::uint16_t>(picture_.compression)) == 0)
      throw Error(ErrorKind::kUnsupported, "this libtiff has no decoder for the compression " +
                                               std::to_string(picture_.compression));
    if (picture_.photometric == tiff::kYcbcr)
      TIFFSetField(tiff_.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  }

  /// 16 bits a colour, or 8 from writers that did not know better, as libtiff has it.
  void read_palette(const tiff::Directory& directory) {
    const std::size_t colours = std::size_t{1} << picture_.bits;
    const std::vector<std::uint32_t> map = directory.values(tiff::kColourMap, 3 * colours);
    if (map.size() < 3 * colours) damaged("tiff", "its palette is cut");
    const bool narrow_map = *std::ranges::max_element(map) < 256;
    palette_.resize(3 * colours);
    for (std::size_t i = 0; i < colours; ++i)
      for (std::size_t c = 0; c < 3; ++c)
        palette_[3 * i + c] =
            static_cast<std::uint8_t>(map[c * colours + i] >> (narrow_map ? 0 : 8));
  }

  void find_blocks() {
    planes_ = picture_.planar == tiff::kSeparate ? static_cast<int>(picture_.samples) : 1;
    tiled_ = TIFFIsTiled(tiff_.get()) != 0;
    if (tiled_) {
      std::uint32_t width = 0, height = 0;
      TIFFGetField(tiff_.get(), TIFFTAG_TILEWIDTH, &width);
      TIFFGetField(tiff_.get(), TIFFTAG_TILELENGTH, &height);
      if (width == 0 || height == 0 || width > INT32_MAX || height > INT32_MAX) refuse();
      block_width_ = static_cast<int>(width);
      block_height_ = static_cast<int>(height);
      block_bytes_ = TIFFTileSize64(tiff_.get());
      row_bytes_ = TIFFTileRowSize64(tiff_.get());
    } else {
      std::uint32_t rows = 0;
      TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_ROWSPERSTRIP, &rows);
      block_width_ = static_cast<int>(info_.width);
      block_height_ = static_cast<int>(std::min(rows == 0 ? info_.height : rows, info_.height));
      block_bytes_ = TIFFVStripSize64(tiff_.get(), static_cast<std::uint32_t>(block_height_));
      row_bytes_ = TIFFScanlineSize64(tiff_.get());
    }
    first_block_ = region_.x / block_width_;
    blocks_ = (region_.x + region_.width - 1) / block_width_ - first_block_ + 1;
    const std::uint64_t samples = planes_ > 1 ? 1 : std::uint64_t{picture_.samples};
    const std::uint64_t needed =
        (static_cast<std::uint64_t>(block_width_) * samples * picture_.bits + 7) / 8;
    if (row_bytes_ < needed ||
        block_bytes_ < row_bytes_ * static_cast<std::uint64_t>(block_height_))
      damaged("tiff", "its pieces are smaller than its header says");
    const auto pieces = static_cast<std::uint64_t>(blocks_) * static_cast<std::uint64_t>(planes_);
    if (block_bytes_ > static_cast<std::uint64_t>(kMostMemory) / pieces)
      throw Error(ErrorKind::kUnsupported, "its tiles or strips take more than 1 GiB");
    pieces_.resize(static_cast<std::size_t>(block_bytes_ * pieces));
  }

  std::uint8_t* piece(int block, int plane) {
    return pieces_.data() + static_cast<std::size_t>(block_bytes_) *
                                static_cast<std::size_t>(block * planes_ + plane);
  }

  void prepare_to_inflate() {
    if (picture_.compression != COMPRESSION_DEFLATE &&
        picture_.compression != COMPRESSION_ADOBE_DEFLATE)
      return;
    TIFFSetField(tiff_.get(), TIFFTAG_DEFLATE_SUBCODEC, DEFLATE_SUBCODEC_ZLIB);
    const std::uint32_t predictor = field(TIFFTAG_PREDICTOR);
    const bool whole_bytes = picture_.bits == 8 || picture_.bits == 16;
    inflates_ =
        field(TIFFTAG_FILLORDER) == FILLORDER_MSB2LSB &&
        (predictor == PREDICTOR_NONE || (predictor == PREDICTOR_HORIZONTAL && whole_bytes)) &&
        (whole_bytes || TIFFIsByteSwapped(tiff_.get()) == 0);
    predicts_ = predictor == PREDICTOR_HORIZONTAL;
  }

  /// Decompresses a piece of rows without libtiff; false where libtiff is to do it.
  bool inflate(std::uint32_t number, std::uint8_t* to, std::size_t bytes) {
    const std::uint64_t at = TIFFGetStrileOffset(tiff_.get(), number),
                        size = TIFFGetStrileByteCount(tiff_.get(), number);
    const Bytes file = input_.file;
    if (at > file.size() || size > file.size() - at) return false;
    thread_local const Inflater inflater;
    if (!inflater.run(file.subspan(at, size), to, bytes)) return false;
    const std::size_t row_bytes = static_cast<std::size_t>(row_bytes_);
    const std::size_t step = planes_ > 1 ? 1 : picture_.samples,
                      count = row_bytes * 8 / picture_.bits;
    for (std::size_t row = 0; row < bytes; row += row_bytes) {
      if (picture_.bits == 16 && TIFFIsByteSwapped(tiff_.get()) != 0)
        swap_bytes(to + row, row_bytes);
      if (!predicts_) continue;
      picture_.bits == 8 ? add_differences<std::uint8_t>(to + row, count, step)
                         : add_differences<std::uint16_t>(to + row, count, step);
    }
    return true;
  }

  static void swap_bytes(std::uint8_t* row, std::size_t bytes) {
    for (std::size_t i = 0; i + 1 < bytes; i += 2) std::swap(row[i], row[i + 1]);
  }

  /// Decodes the pieces in which the region's part of a row of them lies.
  void load(int row_of_blocks) {
    const auto top =
        static_cast<std::uint32_t>(row_of_blocks) * static_cast<std::uint32_t>(block_height_);
    const std::uint64_t rows =
        std::min<std::uint64_t>(static_cast<std::uint64_t>(block_height_), info_.height - top);
    for (int block = 0; block < blocks_; ++block) {
      for (int plane = 0; plane < planes_; ++plane) {
        const auto sample = static_cast<std::uint16_t>(plane);
        std::uint8_t* to = piece(block, plane);
        const auto bytes = static_cast<tmsize_t>(tiled_ ? block_bytes_ : row_bytes_ * rows);
        const auto left = static_cast<std::uint32_t>(first_block_ + block) *
                          static_cast<std::uint32_t>(block_width_);
        const std::uint32_t number = tiled_ ? TIFFComputeTile(tiff_.get(), left, top, 0, sample)
                                            : TIFFComputeStrip(tiff_.get(), top, sample);
        if (inflates_ && inflate(number, to, static_cast<std::size_t>(bytes))) continue;
        const tmsize_t got = tiled_ ? TIFFReadEncodedTile(tiff_.get(), number, to, bytes)
                                    : TIFFReadEncodedStrip(tiff_.get(), number, to, bytes);
        // A warning means that pixels were made up, as for a JPEG.
        if (got != bytes || input_.message[0] != '\0') refuse();
      }
    }
    loaded_ = row_of_blocks;
  }

  /// Puts the region's part of row `y` of a block into the row.
  void unpack(int block, int y) {
    const int left = (first_block_ + block) * block_width_;
    const int begin = std::max(region_.x, left);
    const int end = std::min(region_.x + region_.width, left + block_width_);
    const auto count = static_cast<std::size_t>(end - begin);
    const std::size_t channels = layout_.channels;
    std::byte* to =
        row_.data() + static_cast<std::size_t>(begin - region_.x) * layout_.pixel_bytes();
    for (int plane = 0; plane < planes_; ++plane) {
      const std::uint8_t* row =
          piece(block, plane) + static_cast<std::size_t>(row_bytes_) * static_cast<std::size_t>(y);
      const std::size_t samples = planes_ > 1 ? 1 : picture_.samples;
      const std::size_t first = static_cast<std::size_t>(begin - left) * samples;
      if (!palette_.empty()) {
        look_up(row, first, count, to);
      } else if (planes_ == 1) {
        put(row, first, count * samples, to, 1);
      } else {
        put(row, first, count, to + static_cast<std::size_t>(plane) * layout_.sample_bytes(),
            channels);
      }
    }
  }

  void look_up(const std::uint8_t* row, std::size_t first, std::size_t count, std::byte* to) const {
    BitReader reader(row, first * picture_.bits);
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(to + 3 * i, palette_.data() + 3 * std::size_t{reader.next(picture_.bits)}, 3);
  }

  /// Writes samples from `first` on to every `step`th place of `to`.
  void put(const std::uint8_t* row, std::size_t first, std::size_t count, std::byte* to,
           std::size_t step) const {
    const unsigned bits = picture_.bits;
    const std::size_t bytes = layout_.sample_bytes();
    if (bits == 8 * bytes) {
      const std::uint8_t* from = row + first * bytes;
      if (step == 1) {
        std::memcpy(to, from, count * bytes);
      } else {
        for (std::size_t i = 0; i < count; ++i)
          std::memcpy(to + i * step * bytes, from + i * bytes, bytes);
      }
      return;
    }
    BitReader reader(row, first * bits);
    const unsigned most = (1u << bits) - 1, full = bytes == 1 ? 255 : 65535;
    for (std::size_t i = 0; i < count; ++i) {
      const unsigned value = (reader.next(bits) * full + most / 2) / most;
      if (bytes == 1) {
        to[i * step] = static_cast<std::byte>(value);
      } else {
        const auto wide = static_cast<std::uint16_t>(value);
        std::memcpy(to + i * step * 2, &wide, 2);
      }
    }
  }

  /// White at 0 becomes black at 0; full ink at the highest value becomes full ink at 0.
  void invert() {
    const std::size_t colours = picture_.photometric == tiff::kSeparated ? 4 : 1;
    const std::size_t bytes = layout_.sample_bytes(), pixel = layout_.pixel_bytes();
    for (std::size_t at = 0; at < row_.size(); at += pixel)
      for (std::size_t i = 0; i < colours * bytes; ++i) row_[at + i] = ~row_[at + i];
  }

  TiffInput input_;
  ImageInfo info_;
  PixelLayout layout_;
  Region region_;
  tiff::Picture picture_;
  std::unique_ptr<TIFF, Close> tiff_;
  std::vector<std::uint8_t> palette_;  ///< RGB
  bool tiled_ = false, inflates_ = false, predicts_ = false;
  int planes_ = 1, block_width_ = 0, block_height_ = 0;
  std::uint64_t block_bytes_ = 0, row_bytes_ = 0;
  int first_block_ = 0, blocks_ = 0;  ///< of a row of tiles, those in which the region lies
  int loaded_ = -1, y_;               ///< a row of blocks, a row of pixels
  std::vector<std::uint8_t> pieces_;  ///< the loaded blocks, plane by plane
  std::vector<std::byte> row_;
};

/// A picture whose bands are the pages of a file.
class StackedRows final : public PixelRows {
 public:
  StackedRows(std::vector<std::unique_ptr<TiffRows>> pages, std::size_t page_pixel,
              const Region& region)
      : pages_(std::move(pages)),
        page_pixel_(page_pixel),
        row_(static_cast<std::size_t>(region.width) * page_pixel * pages_.size()) {}

  const std::byte* next() override {
    const std::size_t pixel = page_pixel_ * pages_.size();
    for (std::size_t page = 0; page < pages_.size(); ++page) {
      const std::byte* from = pages_[page]->next();
      for (std::size_t at = page * page_pixel_; at < row_.size(); at += pixel, from += page_pixel_)
        std::memcpy(row_.data() + at, from, page_pixel_);
    }
    return row_.data();
  }

 private:
  std::vector<std::unique_ptr<TiffRows>> pages_;
  std::size_t page_pixel_;  ///< bytes of a pixel of one page
  std::vector<std::byte> row_;
};

}  // namespace

std::unique_ptr<PixelRows> open_tiff(Bytes file, const ProbeResult& header, const Region& region) {
  const std::optional<Cursor> data = tiff::open_structure(file);
  const std::optional<tiff::Pages> pages = data ? tiff::find_pages(*data) : std::nullopt;
  if (!pages) damaged("tiff", "its header");
  const tiff::Picture first = tiff::read_picture(pages->first);
  if (header.layout.channels == first.layout.channels)
    return std::make_unique<TiffRows>(file, pages->first, *header.info, header.layout, region);
  if (header.layout.channels != first.layout.channels * pages->pictures ||
      pages->all.size() != pages->pictures || first.info.width != header.info->width ||
      first.info.height != header.info->height)
    damaged("tiff", "two headers that differ");
  std::vector<std::unique_ptr<TiffRows>> rows;
  for (const tiff::Directory& page : pages->all)
    rows.push_back(std::make_unique<TiffRows>(file, page, first.info, first.layout, region));
  return std::make_unique<StackedRows>(std::move(rows), first.layout.pixel_bytes(), region);
}

}  // namespace packhorse::codecs
