#pragma once

#include <opencv2/core.hpp>
#include <string>
#include <vector>

#include "inspect/tile.h"

namespace packhorse::inspect {

/// A contact sheet: tiles in rows, each with its class and its number below.
///
///     +--------+ +--------+
///     | picture| | picture|   side x side pixels, the picture in the middle
///     +--------+ +--------+
///     goldfish   tench        the class, cut to fit
///     #17        #90          number in the dataset, and how many objects there are
///     a fish     two fish     the caption, in `caption_lines` lines
///
///     []cat  []dog            colours of the classes of objects and pixels
struct SheetLayout {
  int side = 128;   ///< pixels of a tile
  int columns = 8;  ///< tiles
  int caption_lines = 0;
  std::vector<std::string> object_classes = {};  ///< names; empty when the dataset has no objects
  std::vector<std::string> pixel_classes = {};   ///< of masks of pixels, as far as they are known
};

/// Pixels of the whole sheet, without the colours of classes.
cv::Size sheet_size(const SheetLayout& layout, std::size_t tiles);

/// Draws the sheet. `classes`: names by label. The tile of a damaged image is crossed out in red.
cv::Mat draw_sheet(const SheetLayout& layout, const std::vector<Tile>& tiles,
                   const std::vector<std::string>& classes);

}  // namespace packhorse::inspect
