#include "image/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "codecs/codec.h"
#include "codecs/cursor.h"

/// NumPy's files of one picture: rows and columns, or these and bands, which lie in the last axis
/// or in the first. Source: numpy/lib/format.py.
namespace packhorse::codecs {

namespace {

constexpr std::size_t kMostBands = 255;  // what ImageInfo holds

struct Axis {
  std::uint64_t extent = 1;
  std::uint64_t stride = 0;  ///< bytes
};

/// A picture in the file.
struct Picture {
  Axis rows, columns, bands;
  std::uint8_t bits = 8;
  bool swapped = false;  ///< the other byte order
  std::size_t pixels = 0;
};

/// Where the bands of an array with three axes are: they are clearly fewer than rows and columns,
/// or rows and columns are as many. Nothing where that is so of no axis at the ends, or of both.
std::optional<std::size_t> axis_of_bands(const std::vector<std::uint64_t>& shape) {
  const auto are = [&](std::size_t bands, std::size_t a, std::size_t b) {
    return shape[bands] <= std::min(shape[a], shape[b]) / 2 ||
           (shape[a] == shape[b] && shape[bands] != shape[a]);
  };
  const bool last = are(2, 0, 1), first = are(0, 1, 2);
  if (last == first) return std::nullopt;
  return last ? 2 : 0;
}

/// The bits of values of a type; 0 for a type that is not read.
std::uint8_t bits_of(std::string_view type) {
  type.remove_prefix(std::min<std::size_t>(1, type.size()));
  return type == "u1" ? 8 : type == "u2" ? 16 : type == "f4" ? 32 : 0;
}

/// Throws Error(kCorrupt); nothing where `unsupported` says why.
std::optional<Picture> find_picture(Bytes file, std::string& unsupported) {
  const NpyHeader header = parse_npy_header(file);
  const std::vector<std::uint64_t>& shape = header.shape;
  Picture picture;
  picture.pixels = header.bytes;
  picture.bits = bits_of(header.type);
  if (picture.bits == 0) {
    unsupported =
        fmt::format("NumPy array of {} (uint8, uint16 and float32 are read)", header.type);
    return std::nullopt;
  }
  const std::string of_shape = fmt::format("NumPy array of the shape ({})", fmt::join(shape, ", "));
  std::optional<std::size_t> bands = 2;
  if (shape.size() == 3) bands = axis_of_bands(shape);
  if ((shape.size() != 2 && shape.size() != 3) || !bands) {
    unsupported = of_shape +
                  ", which is not that of one picture: height, width, and bands first or "
                  "last";
    return std::nullopt;
  }
  std::array<Axis, 3> axes;
  std::uint64_t stride = picture.bits / 8;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = header.fortran_order ? i : shape.size() - 1 - i;
    axes[axis] = {shape[axis], stride};
    stride = product(stride, shape[axis]);
  }
  if (stride != file.size() - header.bytes)
    throw Error(ErrorKind::kCorrupt, "damaged .npy: its size is not the one in its header");
  picture.bands = axes[*bands];
  picture.rows = axes[*bands == 0 ? 1 : 0];
  picture.columns = axes[*bands == 0 ? 2 : 1];
  picture.swapped =
      (header.type[0] == '>') == (std::endian::native == std::endian::little) && picture.bits > 8;
  if (picture.bands.extent > 0 && picture.bands.extent <= kMostBands) return picture;
  unsupported = of_shape + (picture.bands.extent == 0 ? ", of no bands" : ", of too many bands");
  return std::nullopt;
}

class NpyRows final : public PixelRows {
 public:
  NpyRows(Bytes file, const Picture& picture, const Region& region)
      : picture_(picture),
        at_(file.data() + picture.pixels +
            static_cast<std::size_t>(region.y) * picture.rows.stride +
            static_cast<std::size_t>(region.x) * picture.columns.stride),
        pixels_(static_cast<std::size_t>(region.width)) {
    row_.resize(pixels_ * picture.bands.extent * sample_bytes());
  }

  const std::byte* next() override {
    const std::size_t bytes = sample_bytes(), bands = picture_.bands.extent;
    if ((bands == 1 || picture_.bands.stride == bytes) &&
        picture_.columns.stride == bytes * bands) {
      std::memcpy(row_.data(), at_, row_.size());
    } else {
      std::byte* out = row_.data();
      for (std::size_t x = 0; x < pixels_; ++x)
        for (std::size_t band = 0; band < bands; ++band, out += bytes)
          std::memcpy(out, at_ + x * picture_.columns.stride + band * picture_.bands.stride, bytes);
    }
    if (picture_.swapped)
      for (std::size_t i = 0; i < row_.size(); i += bytes)
        std::reverse(row_.data() + i, row_.data() + i + bytes);
    at_ += picture_.rows.stride;
    return row_.data();
  }

 private:
  std::size_t sample_bytes() const { return picture_.bits / 8u; }

  Picture picture_;
  const std::byte* at_;  ///< the first sample of the next row
  std::size_t pixels_;
  std::vector<std::byte> row_;
};

}  // namespace

ProbeResult read_npy_header(Bytes file, bool) try {
  std::string unsupported;
  const std::optional<Picture> picture = find_picture(file, unsupported);
  if (!picture) return refuse_kind(unsupported);
  constexpr std::uint64_t kMost = UINT32_MAX;
  ImageInfo info;
  info.width = static_cast<std::uint32_t>(std::min(picture->columns.extent, kMost));
  info.height = static_cast<std::uint32_t>(std::min(picture->rows.extent, kMost));
  info.components = narrow(static_cast<std::uint32_t>(picture->bands.extent));
  info.bit_depth = picture->bits;
  const ColourModel model = info.components == 1   ? ColourModel::kGrey
                            : info.components == 3 ? ColourModel::kRgb
                                                   : ColourModel::kBands;
  return accept(info, {model, Alpha::kNone, info.components, info.bit_depth}, {});
} catch (const Error& error) {
  return refuse(error.what());
}

std::unique_ptr<PixelRows> open_npy(Bytes file, const ProbeResult& header, const Region& region) {
  std::string unsupported;
  const std::optional<Picture> picture = find_picture(file, unsupported);
  if (!picture || picture->rows.extent != header.info->height ||
      picture->columns.extent != header.info->width)
    damaged(".npy", "two readings of its header differ");
  return std::make_unique<NpyRows>(file, *picture, region);
}

}  // namespace packhorse::codecs
