#pragma once

#include <array>

#include "codecs/codec.h"
#include "codecs/cursor.h"

/// Bitmaps of Windows and OS/2. Source: Microsoft, BITMAPINFOHEADER to BITMAPV5HEADER.
namespace packhorse::codecs::bmp {

// Values of biCompression that matter here.
inline constexpr std::uint32_t kPlain = 0, kRuns8 = 1, kRuns4 = 2, kMasks = 3, kAlphaMasks = 6;

struct Header {
  std::uint32_t width = 0, height = 0;
  bool from_top = false;  ///< rows begin with the top one
  std::uint32_t bits = 0, compression = 0;
  std::size_t palette = 0, palette_entry = 4;  ///< where, bytes each
  /// How many it should have, and how many lie before the pixels.
  std::size_t palette_stated = 0, palette_colours = 0;
  std::array<std::uint32_t, 4> masks{};  ///< of red, green, blue and alpha, for 16 and 32 bits
  std::size_t pixels = 0;                ///< where they begin
  std::uint64_t row_bytes = 0;           ///< from one row to the next

  bool has_palette() const { return bits <= 8; }
  bool has_runs() const { return compression == kRuns8 || compression == kRuns4; }
  bool has_alpha() const { return masks[3] != 0; }
};

/// Reads it, or gives what probe_image() says about the file.
std::optional<Header> read(const Cursor& data, ProbeResult& refusal);

}  // namespace packhorse::codecs::bmp
