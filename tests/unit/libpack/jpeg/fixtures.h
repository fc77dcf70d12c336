#pragma once

#include <optional>
#include <random>
#include <string_view>

#include "packhorse/jpeg/decoder.h"
#include "support/pictures.h"
#include "support/support.h"

/// The vocabulary of the JPEG decoder's tests.
namespace packhorse::jpeg::test {

using packhorse::test::File;
using packhorse::test::JpegSpec;
using packhorse::test::kEvery;
using packhorse::test::make_jpeg;
using packhorse::test::make_picture;
using packhorse::test::photos;

/// Decodes to RGB with our decoder; nothing where it refuses. Checks that only the window is
/// written, that the file is read without a byte beyond its end, and that a sink gets the same
/// pixels.
std::optional<packhorse::test::Picture> decoded(Bytes file, const Window& window, Scratch& scratch,
                                                Reason* reason = nullptr,
                                                Scale scale = Scale::kWhole);
/// Decodes the whole picture in a plain libjpeg loop. A warning fails the test.
packhorse::test::Picture decoded_by_libjpeg(Bytes file, Scale scale = Scale::kWhole);

Window whole(const packhorse::test::Picture& picture);
packhorse::test::Picture window_of(const packhorse::test::Picture& picture, const Window& window);
/// Draws any window of a picture, including small ones and whole sides.
Window draw_window(std::mt19937& random, std::uint32_t width, std::uint32_t height);

/// A grey square made of random coefficients up to the largest that 8-bit JPEGs can have, with
/// quantisation steps of `step`: the inverse DCT overflows 16 bits. Some blocks have only their
/// first row, or their mean.
inline constexpr std::uint32_t kSideOfExtremes = 64;
File made_of_extremes(std::mt19937& random, unsigned step);

/// A grey picture, one block wide and `rows` blocks high, with a scan of `bytes` zeros. With its
/// tables each block takes 87 bytes of zeros, without an end: a decoder that reads on after the
/// scan finds blocks for as long as there are zeros.
File made_of_starved_blocks(std::uint32_t rows, std::size_t bytes);

/// The same pixels with restart markers and a RoiTable.
File made_roi(Bytes file, int restart_mcus);

}  // namespace packhorse::jpeg::test
