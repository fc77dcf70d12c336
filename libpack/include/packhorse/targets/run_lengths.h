#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packhorse/targets/objects.h"

/// Masks as run lengths, as COCO defines them: the mask is read column by column, from the top left
/// pixel down; counts alternate between pixels outside and inside, and begin with those outside.
/// Their sum is width x height. Everything here gives the same counts as pycocotools' mask API.
namespace packhorse {

using RunLengths = std::vector<std::uint32_t>;

struct MaskSize {
  std::uint32_t height = 0, width = 0;
  std::uint64_t pixels() const { return std::uint64_t{height} * width; }
};

/// Adds runs one after the other; neighbours of one value become one run.
class RunWriter {
 public:
  void add(bool inside, std::uint64_t length);
  RunLengths take() && { return std::move(counts_); }

 private:
  RunLengths counts_;
};

/// Throws Error(kCorrupt) unless the counts' sum is the mask's size.
void check_run_lengths(std::span<const std::uint32_t> counts, MaskSize size);

/// COCO's text for counts, in characters of six bits. Throws Error(kCorrupt).
RunLengths parse_run_lengths(std::string_view text);
std::string run_lengths_text(std::span<const std::uint32_t> counts);

/// Pixels inside.
std::uint64_t area_of(std::span<const std::uint32_t> counts);
/// The box around the pixels inside; of no area where there is none. Counts as checked.
Box box_of(std::span<const std::uint32_t> counts, MaskSize size);

/// The pixels inside a polygon, closed by itself. Its corners may lie outside the mask. Throws
/// Error(kUnsupported) for corners beyond 2^17.
RunLengths fill_polygon(std::span<const Point> corners, MaskSize size);
/// The pixels that are inside any of some masks of one size. Counts as checked.
RunLengths merge_masks(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);
RunLengths merge_masks(std::vector<RunLengths> masks);
/// The pixels that are inside of the first mask and not of the second, of one size. Counts as
/// checked.
RunLengths subtract_mask(std::span<const std::uint32_t> from, std::span<const std::uint32_t> mask);

/// Writes one byte a pixel, 1 inside and 0 outside, row by row. `mask` has size.pixels() bytes, and
/// the counts are as checked.
void draw_mask(std::span<const std::uint32_t> counts, MaskSize size, std::span<std::uint8_t> mask);

}  // namespace packhorse
