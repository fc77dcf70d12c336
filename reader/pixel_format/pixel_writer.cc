#include "pixel_format/pixel_writer.h"

#include <algorithm>
#include <cstring>

#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

const PixelFormat& checked(const PixelFormat& format, std::size_t bands, bool within_0_and_1) {
  format.validate(bands == 0 ? 3 : bands, within_0_and_1);
  if (bands == 0 && format.type == PixelType::kUint16)
    throw Error(ErrorKind::kUsage, "colours are of 8 bits: choose bands for 16");
  return format;
}

/// Of RGB; where nothing is to be normalised, what changes nothing.
Normalization normalization_of(const PixelFormat& format) {
  Normalization made{{0, 0, 0}, {1, 1, 1}};
  if (format.mean.size() != 3) return made;
  std::copy_n(format.mean.begin(), 3, made.mean.begin());
  std::copy_n(format.deviation.begin(), 3, made.deviation.begin());
  return made;
}

/// The three planes of `count` numbers in `out`.
template <class T>
std::array<T*, 3> planes_in(std::uint8_t* out, std::size_t count) {
  T* first = reinterpret_cast<T*>(out);
  return {first, first + count, first + 2 * count};
}

}  // namespace

PixelWriter::PixelWriter(const PixelFormat& format, std::size_t bands, bool within_0_and_1)
    : format_(checked(format, bands, within_0_and_1)),
      bands_(bands),
      normalization_(normalization_of(format)),
      kernels_(fastest_pixel_kernels()) {}

bool PixelWriter::is_as_decoded() const {
  return format_ == PixelFormat{.type = bands_ == 0 ? PixelType::kUint8 : PixelType::kFloat32};
}

void PixelWriter::write(std::span<const std::uint8_t> pixels, std::span<std::uint8_t> out) const {
  const std::size_t numbers = pixels.size() / (bands_ == 0 ? 1 : sizeof(float));
  if (out.size() != numbers * size_of(format_.type)) {
    throw Error(ErrorKind::kUsage, "the room for the pixels is not as large as their format needs");
  }
  if (bands_ > 0)
    return write_bands({reinterpret_cast<const float*>(pixels.data()), numbers}, bands_, format_,
                       out);
  const std::size_t count = pixels.size() / 3;
  format_.layout == PixelLayout::kPlanes ? write_planes(pixels.data(), count, out.data())
                                         : write_interleaved(pixels.data(), count, out.data());
}

void PixelWriter::write_planes(const std::uint8_t* in, std::size_t count, std::uint8_t* out) const {
  switch (format_.type) {
    case PixelType::kUint8:
      return kernels_.byte_planes(in, count, planes_in<std::uint8_t>(out, count));
    case PixelType::kFloat32:
      return kernels_.float_planes(in, count, normalization_, planes_in<float>(out, count));
    case PixelType::kFloat16:
      return kernels_.half_planes(in, count, normalization_, planes_in<Half>(out, count));
    case PixelType::kUint16:
      break;  // refused
  }
}

void PixelWriter::write_interleaved(const std::uint8_t* in, std::size_t count,
                                    std::uint8_t* out) const {
  switch (format_.type) {
    case PixelType::kUint8:
      std::memcpy(out, in, 3 * count);
      return;
    case PixelType::kFloat32:
      return kernels_.floats(in, count, normalization_, reinterpret_cast<float*>(out));
    case PixelType::kFloat16:
      return kernels_.halves(in, count, normalization_, reinterpret_cast<Half*>(out));
    case PixelType::kUint16:
      break;  // refused
  }
}

}  // namespace packhorse::reader
