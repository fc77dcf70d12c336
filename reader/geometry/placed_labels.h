#pragma once

#include <cstdint>
#include <span>

#include "geometry/placed_masks.h"
#include "packhorse/targets/label_image.h"

namespace packhorse::reader {

/// Puts the labels of a stored picture where its pixels go: each output pixel gets the label of the
/// stored pixel nearest to its centre, and keeps what it has where the picture is not seen. `output`
/// has a byte a pixel, row by row.
void place_labels(const LabelImage& labels, const MaskPlace& place,
                  std::span<std::uint8_t> output);

}  // namespace packhorse::reader
