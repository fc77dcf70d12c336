#pragma once

#include <memory>
#include <span>
#include <vector>

#include "codecs/colour_rows.h"

/// Pixels as they are stored, for images of other bands than colours or of more than 8 bits:
/// nothing is flattened, left out or reduced to 8 bits.
namespace packhorse {

/// What the samples of each pixel are.
struct BandLayout {
  int bands = 0;  ///< the alpha among them; a palette's colours are three
  int bits = 8;   ///< 8, 16, or 32 for floating-point numbers
  bool is_float() const { return bits == 32; }
  friend bool operator==(const BandLayout&, const BandLayout&) = default;
};

/// From the header alone; for a JPEG, its colours. Throws what open_bands() throws.
BandLayout band_layout(Bytes file, const ImageInfo& info);

/// Gives an image row by row, not turned upright. One thread.
class BandRows {
 public:
  virtual ~BandRows() = default;
  /// Writes the next row: width x bands numbers, interleaved. Integers become fractions of the
  /// highest number of their bits, rounded once; floating-point numbers stay as they are. Throws
  /// Error(kCorrupt) for damage.
  virtual void next_row(float* out) = 0;

  int width = 0, height = 0;
  BandLayout layout;  ///< of the file, whichever bands are decoded
};

/// Decodes the bands with these numbers, counted from 0, of `region`; an empty region means the
/// whole image. `info` as for open_colours(). Throws Error(kCorrupt), or Error(kUnsupported) for a
/// band that the picture does not have. `file` must outlive the rows.
std::unique_ptr<BandRows> open_bands(Bytes file, const ImageInfo& info, const Region& region,
                                     std::span<const int> bands);

/// The numbers of all bands.
std::vector<int> all_bands(const BandLayout& layout);

}  // namespace packhorse
