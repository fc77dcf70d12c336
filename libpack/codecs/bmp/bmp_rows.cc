#include <algorithm>
#include <bit>
#include <vector>

#include "codecs/bmp/bmp_header.h"

namespace packhorse::codecs {

namespace {

/// One colour of 16 or 32 bits.
struct Field {
  std::uint32_t mask = 0, most = 0;
  int shift = 0;
  explicit Field(std::uint32_t of) : mask(of) {
    if (mask == 0) return;
    shift = std::countr_zero(mask);
    most = mask >> shift;
  }
  std::uint8_t of(std::uint32_t pixel) const {
    if (most == 0) return 0;
    const std::uint64_t value = (pixel & mask) >> shift;
    return static_cast<std::uint8_t>((value * 255 + most / 2) / most);
  }
};

/// The indices of a picture of runs, the bottom row first.
class Runs {
 public:
  Runs(Bytes data, const bmp::Header& header)
      : data_(data),
        four_bits_(header.compression == bmp::kRuns4),
        width_(header.width),
        height_(header.height),
        indices_(std::size_t{width_} * height_) {}

  std::vector<std::uint8_t> decode() {
    while (y_ < height_ && !(is_full() && at_ == data_.size())) {  // some leave out the end
      const unsigned count = byte(), value = byte();
      if (count > 0) {
        for (unsigned i = 0; i < count; ++i) put(four_bits_ ? nibble(value, i) : value);
      } else if (value == kEndOfLine) {
        x_ = 0;
        ++y_;
      } else if (value == kEnd) {
        if (!is_full()) damaged("bmp", "its runs end too early");
        break;
      } else if (value == kMove) {
        x_ += byte();
        y_ += byte();
      } else {
        take_literals(value);
      }
    }
    // After the end of the last line comes that of the picture, if anything.
    if (y_ >= height_ && at_ < data_.size() && (byte() != 0 || byte() != kEnd))
      damaged("bmp", "its runs go on beyond its rows");
    return std::move(indices_);
  }

 private:
  static constexpr unsigned kEndOfLine = 0, kEnd = 1, kMove = 2;

  static unsigned nibble(unsigned pair, unsigned i) { return i % 2 == 0 ? pair >> 4 : pair & 15; }

  bool is_full() const { return y_ + 1 == height_ && x_ >= width_; }

  unsigned byte() {
    if (at_ == data_.size()) damaged("bmp", "its runs end too early");
    return std::to_integer<unsigned>(data_[at_++]);
  }

  void put(unsigned index) {
    if (x_ >= width_) damaged("bmp", "its runs reach beyond a row");
    indices_[std::size_t{y_} * width_ + x_++] = static_cast<std::uint8_t>(index);
  }

  void take_literals(unsigned count) {
    const std::size_t begin = at_;
    unsigned pair = 0;
    for (unsigned i = 0; i < count; ++i) {
      if (!four_bits_ || i % 2 == 0) pair = byte();
      put(four_bits_ ? nibble(pair, i) : pair);
    }
    if ((at_ - begin) % 2 != 0) byte();  // to a whole word
  }

  Bytes data_;
  bool four_bits_;
  std::uint32_t width_, height_;
  std::vector<std::uint8_t> indices_;
  std::size_t at_ = 0;
  std::uint32_t x_ = 0, y_ = 0;
};

class BmpRows final : public PixelRows {
 public:
  BmpRows(Bytes file, const bmp::Header& header, const Region& region)
      : file_(file), header_(header), region_(region), y_(static_cast<std::uint32_t>(region.y)) {
    channels_ = header.has_alpha() ? 4 : 3;
    row_.resize(static_cast<std::size_t>(region.width) * channels_);
    if (header.has_runs()) indices_ = Runs(file.subspan(header.pixels), header).decode();
    if (header.has_alpha()) opaque_ = alpha_is_unused();
  }

  const std::byte* next() override {
    const std::uint32_t y = header_.from_top ? y_ : header_.height - 1 - y_;
    ++y_;
    std::byte* to = row_.data();
    for (int i = 0; i < region_.width; ++i, to += channels_) {
      const std::size_t x = static_cast<std::size_t>(region_.x) + static_cast<std::size_t>(i);
      if (header_.has_palette()) {
        look_up(index(x, y), to);
      } else if (header_.bits == 24) {
        for (std::size_t c = 0; c < 3; ++c) to[c] = file_[place(y) + 3 * x + 2 - c];
      } else {
        unpack(pixel(x, y), to);
      }
    }
    return row_.data();
  }

 private:
  std::size_t place(std::uint32_t y) const { return header_.pixels + y * header_.row_bytes; }

  unsigned index(std::size_t x, std::uint32_t y) const {
    if (header_.has_runs()) return indices_[std::size_t{y} * header_.width + x];
    const unsigned bits = header_.bits, each = 8 / bits;
    const auto byte = std::to_integer<unsigned>(file_[place(y) + x / each]);
    return byte >> (8 - bits - x % each * bits) & ((1u << bits) - 1);
  }

  /// Colours that the palette does not have are black.
  void look_up(unsigned colour, std::byte* to) const {
    if (colour >= header_.palette_colours && colour < header_.palette_stated)
      damaged("bmp", "its pixels lie where colours of its palette should be");
    const std::size_t at = header_.palette + colour * header_.palette_entry;
    for (std::size_t c = 0; c < 3; ++c)
      to[c] = colour < header_.palette_colours ? file_[at + 2 - c] : std::byte{0};
  }

  std::uint32_t pixel(std::size_t x, std::uint32_t y) const {
    const Cursor row(file_.subspan(place(y)), false);
    return *(header_.bits == 16 ? row.u16(2 * x) : row.u32(4 * x));
  }

  void unpack(std::uint32_t pixel, std::byte* to) const {
    for (std::size_t c = 0; c < channels_; ++c) to[c] = std::byte{fields_[c].of(pixel)};
    if (opaque_) to[3] = std::byte{255};
  }

  /// Writers that name alpha's place and leave it empty mean an opaque picture, as browsers have
  /// it.
  bool alpha_is_unused() const {
    for (std::uint32_t y = 0; y < header_.height; ++y)
      for (std::size_t x = 0; x < header_.width; ++x)
        if ((pixel(x, y) & header_.masks[3]) != 0) return false;
    return true;
  }

  Bytes file_;
  bmp::Header header_;
  Region region_;
  std::uint32_t y_;
  std::size_t channels_ = 3;
  std::array<Field, 4> fields_{Field(header_.masks[0]), Field(header_.masks[1]),
                               Field(header_.masks[2]), Field(header_.masks[3])};
  std::vector<std::uint8_t> indices_;  ///< of a picture of runs
  bool opaque_ = false;
  std::vector<std::byte> row_;
};

}  // namespace

std::unique_ptr<PixelRows> open_bmp(Bytes file, const ProbeResult& header, const Region& region) {
  ProbeResult refusal;
  const std::optional<bmp::Header> found = bmp::read(Cursor(file, false), refusal);
  if (!found || found->width != header.info->width || found->height != header.info->height)
    damaged("bmp", "its header");
  return std::make_unique<BmpRows>(file, *found, region);
}

}  // namespace packhorse::codecs
