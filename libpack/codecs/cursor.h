#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "codecs/image_header.h"

/// Private to libpack/codecs: what the readers of headers share.
namespace packhorse::codecs {

/// Reads numbers out of a file's bytes; stepping outside gives nullopt rather than garbage.
class Cursor {
 public:
  explicit Cursor(Bytes bytes, bool big_endian = true) : bytes_(bytes), big_endian_(big_endian) {}
  std::size_t size() const { return bytes_.size(); }
  std::optional<std::uint32_t> u8(std::size_t at) const { return number(at, 1); }
  std::optional<std::uint32_t> u16(std::size_t at) const { return number(at, 2); }
  std::optional<std::uint32_t> u32(std::size_t at) const { return number(at, 4); }
  bool has(std::size_t at, std::string_view text) const {
    return at <= bytes_.size() && text.size() <= bytes_.size() - at &&
           as_text(bytes_.subspan(at, text.size())) == text;
  }
  /// The `length` bytes at `at`, or none when they are not all there.
  std::optional<Bytes> piece(std::size_t at, std::size_t length) const {
    if (at > bytes_.size() || length > bytes_.size() - at) return std::nullopt;
    return bytes_.subspan(at, length);
  }

 private:
  std::optional<std::uint32_t> number(std::size_t at, std::size_t width) const {
    if (at > bytes_.size() || width > bytes_.size() - at) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const std::size_t place = big_endian_ ? at + i : at + width - 1 - i;
      value = (value << 8) | std::to_integer<std::uint32_t>(bytes_[place]);
    }
    return value;
  }
  Bytes bytes_;
  bool big_endian_;
};

inline ProbeResult refuse(Problem problem) {
  return {std::nullopt, std::move(problem.text), {}, problem.code};
}
inline ProbeResult refuse(std::string damage) {
  return refuse(Problem(Reason::kDamaged, std::move(damage)));
}
/// Refuses an image that nothing here decodes: `what` says what it is.
inline ProbeResult refuse_kind(const std::string& what, Reason reason = Reason::kUnsupported) {
  return refuse(Problem(reason, "unsupported: " + what));
}
inline ProbeResult accept(const ImageInfo& info, const PixelLayout& layout, const DecodeCost& cost,
                          std::uint32_t pictures = 1) {
  return {info, {}, cost, Reason::kNone, layout, pictures};
}

/// Multiplies numbers from headers, which may say anything: a product beyond 64 bits becomes the
/// largest number.
inline std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? ~std::uint64_t{0} : result;
}

/// The bytes of all pixels as they are decoded.
inline std::uint64_t decoded_bytes(const ImageInfo& info, const PixelLayout& layout) {
  return product(product(info.width, info.height), layout.pixel_bytes());
}

inline std::uint8_t narrow(std::uint32_t value) {
  return static_cast<std::uint8_t>(value < 255 ? value : 255u);
}

/// Orientation (tag 0x0112) from a TIFF structure, as EXIF embeds one; 1 when it says nothing
/// usable.
std::uint8_t exif_orientation(Bytes tiff_structure);

}  // namespace packhorse::codecs
