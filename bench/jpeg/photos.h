#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <vector>

#include "packhorse/image/image_info.h"
#include "packhorse/jpeg/decoder.h"

/// What the benchmarks of the JPEG decoder decode.
namespace packhorse::bench {

using File = std::vector<std::byte>;

struct Jpeg {
  File file;
  ImageInfo info;
};

/// The first `limit` JPEGs of a folder and those in it, by path, but for CMYK.
std::vector<Jpeg> jpegs_in(const std::filesystem::path& folder, std::size_t limit);

/// The crop of a RandomResizedCrop, as torchvision draws it: 8 to 100 % of the area, sides of 3:4
/// to 4:3.
jpeg::Window draw_crop(std::uint32_t width, std::uint32_t height, std::mt19937& random);

}  // namespace packhorse::bench
