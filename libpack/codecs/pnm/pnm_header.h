#pragma once

#include "codecs/codec.h"
#include "codecs/cursor.h"

/// Netpbm's PBM, PGM and PPM, plain (P1 to P3) and raw (P4 to P6).
namespace packhorse::codecs::pnm {

struct Header {
  char type = '5';  ///< the digit after the P
  std::uint32_t width = 0, height = 0;
  std::uint32_t maximum = 1;  ///< the largest value of a sample, 1 to 65535
  std::size_t pixels = 0;     ///< where they begin

  bool is_plain() const { return type <= '3'; }
  bool is_bitmap() const { return type == '1' || type == '4'; }
  std::size_t channels() const { return type == '3' || type == '6' ? 3 : 1; }
  std::size_t sample_bytes() const { return maximum > 255 ? 2 : 1; }
  std::uint64_t samples_in_row() const { return std::uint64_t{width} * channels(); }
  std::uint64_t row_bytes() const {
    return is_bitmap() ? (std::uint64_t{width} + 7) / 8 : samples_in_row() * sample_bytes();
  }
};

/// Numbers in text, between blanks and comments.
class Numbers {
 public:
  Numbers(std::string_view text, std::size_t at) : text_(text), at_(at) {}
  std::size_t at() const { return at_; }
  /// The next one; a number that is too large stays so, however many digits follow. Nothing at the
  /// end, or where there is something else.
  std::optional<std::uint32_t> next();
  /// The next digit, be there blanks before it or not.
  std::optional<std::uint32_t> next_bit();

 private:
  bool find();
  std::string_view text_;
  std::size_t at_;
};

/// Reads it; nothing when the file is none, or not whole: `reason` then says why.
std::optional<Header> read(Bytes file, std::string& reason);

}  // namespace packhorse::codecs::pnm
