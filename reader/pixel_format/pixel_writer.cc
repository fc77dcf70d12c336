#include "pixel_format/pixel_writer.h"

#include <cstring>

#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

const PixelFormat& checked(const PixelFormat& format) {
  format.validate();
  return format;
}

/// The three planes of `count` numbers in `out`.
template <class T>
std::array<T*, 3> planes_in(std::uint8_t* out, std::size_t count) {
  T* first = reinterpret_cast<T*>(out);
  return {first, first + count, first + 2 * count};
}

}  // namespace

PixelWriter::PixelWriter(const PixelFormat& format)
    : format_(checked(format)),
      normalization_{format.mean, format.deviation},
      kernels_(fastest_pixel_kernels()) {}

bool PixelWriter::is_as_decoded() const { return format_ == PixelFormat{}; }

void PixelWriter::write(std::span<const std::uint8_t> pixels, std::span<std::uint8_t> out) const {
  if (out.size() != pixels.size() * size_of(format_.type)) {
    throw Error(ErrorKind::kUsage, "the room for the pixels is not as large as their format needs");
  }
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
  }
}

}  // namespace packhorse::reader
