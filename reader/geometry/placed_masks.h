#pragma once

#include <span>
#include <vector>

#include "packhorse/reader/geometry.h"
#include "packhorse/targets/run_lengths.h"

/// An object's mask, where its picture was put.
namespace packhorse::reader {

/// The part of a polygon that lies in `part`; touching edges where that parts it.
std::vector<Point> cut_polygon(std::span<const Point> corners, const Rect& part);

/// A picture as masks see it.
struct MaskPlace {
  MaskSize stored;  ///< of the stored picture
  Rect shown;       ///< in pixels of the upright one
  Matrix turning;   ///< from the stored to the upright picture
  Matrix matrix;    ///< from the upright picture to the output
  ImageSize output;
};
/// The mask in output pixels: each is what the stored pixel on its centre is. `counts` as checked.
RunLengths place_mask(std::span<const std::uint32_t> counts, const MaskPlace& place);

}  // namespace packhorse::reader
