#pragma once

#include <cstdint>

#include "packhorse/image/image_info.h"
#include "packhorse/targets/label_image.h"
#include "packhorse/targets/objects.h"
#include "packhorse/targets/run_lengths.h"

namespace packhorse {

/// Where the pixels of an image went when it was made into another one: each axis is scaled and
/// moved, then the picture is mirrored, then its axes are exchanged. Targets of the image move in
/// the same way.
struct PixelMap {
  double scale_x = 1, scale_y = 1;
  double move_x = 0, move_y = 0;  ///< in pixels of the picture before it is mirrored
  Turn turn = {};
  std::uint32_t width = 0, height = 0;  ///< of the picture before its axes are exchanged; 0: any

  bool changes_nothing() const;
  Point apply(Point point) const;
  /// Where a point of the made image came from.
  Point undo(Point point) const;
};

/// How a stored picture is turned upright.
PixelMap upright_map(const ImageInfo& image);

/// The objects of an image of size `from`, in the image that `map` made of it: boxes and points by
/// the map, areas by its scales, run lengths by the pixel nearest to the centre of each new one.
/// Nothing is clipped. Throws Error(kCorrupt) for run lengths that are not those of such an image.
Objects map_objects(Objects objects, const PixelMap& map, MaskSize from);

/// The mask of the image that `map` made of this one's: the pixel nearest to the centre of each new
/// one, or `outside`.
LabelImage map_labels(const LabelImage& image, const PixelMap& map, std::uint8_t outside);

}  // namespace packhorse
