#include "fixtures.h"

// jpeglib.h needs size_t and FILE, and includes neither.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>

#include "packhorse/file.h"
#include "packhorse/permutation.h"

namespace packhorse::reader::test {

namespace fs = std::filesystem;

Picture make_picture(int width, int height, unsigned variant) {
  Picture picture{width, height, {}};
  picture.pixels.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const std::uint64_t noise =
          mix64(static_cast<std::uint64_t>(y * 65537 + x) ^ (std::uint64_t{variant} << 40));
      const bool edge = ((x / 5 + y / 7 + static_cast<int>(variant)) % 3) == 0;
      std::uint8_t* pixel = picture.at(x, y);
      pixel[0] = static_cast<std::uint8_t>((x * 255 / width + static_cast<int>(noise & 31)) & 255);
      pixel[1] = static_cast<std::uint8_t>(
          edge ? 230 : (y * 200 / height + static_cast<int>(noise >> 8 & 15)));
      pixel[2] = static_cast<std::uint8_t>((x * y + 40 * static_cast<int>(variant)) & 255);
    }
  }
  return picture;
}

Picture window_of(const Picture& picture, int x, int y, int w, int h) {
  Picture window{w, h, {}};
  for (int row = y; row < y + h; ++row) {
    window.pixels.insert(window.pixels.end(), picture.at(x, row), picture.at(x, row) + 3 * w);
  }
  return window;
}

int largest_difference(const Picture& a, const Picture& b) {
  if (a.width != b.width || a.height != b.height) return 256;
  int largest = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    largest = std::max(largest, std::abs(int{a.pixels[i]} - int{b.pixels[i]}));
  }
  return largest;
}

namespace {

/// An EXIF segment with nothing but the orientation.
void write_exif(jpeg_compress_struct& jpeg, int orientation) {
  const std::array<std::uint8_t, 32> segment = {
      'E', 'x', 'i', 'f',  0,    0, 'M', 'M', 0, 42, 0, 0, 0,
      8,   0,   1,   0x01, 0x12, 0, 3,   0,   0, 0,  1, 0, static_cast<std::uint8_t>(orientation),
      0,   0,   0,   0,    0,    0};
  jpeg_write_marker(&jpeg, JPEG_APP0 + 1, segment.data(), segment.size());
}

/// A row of what the encoder is given: grey, RGB or (K = 0) CMYK.
std::vector<std::uint8_t> input_row(const Picture& picture, int y, const JpegSpec& spec) {
  std::vector<std::uint8_t> row;
  for (int x = 0; x < picture.width; ++x) {
    const std::uint8_t* rgb = picture.at(x, y);
    if (spec.components == 1) {
      row.push_back(rgb[1]);
    } else if (spec.components == 3) {
      row.insert(row.end(), rgb, rgb + 3);
    } else {
      // Inverted CMY is RGB; inverted "no black" is 255.
      const std::uint8_t flip = spec.adobe ? 0 : 255;
      for (int c = 0; c < 3; ++c) row.push_back(rgb[c] ^ flip);
      row.push_back(255 ^ flip);
    }
  }
  return row;
}

}  // namespace

File make_jpeg(const Picture& picture, const JpegSpec& spec) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &memory, &size);
  jpeg.image_width = static_cast<JDIMENSION>(picture.width);
  jpeg.image_height = static_cast<JDIMENSION>(picture.height);
  jpeg.input_components = spec.components;
  jpeg.in_color_space = spec.components == 1   ? JCS_GRAYSCALE
                        : spec.components == 3 ? JCS_RGB
                                               : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  if (spec.ycck) jpeg_set_colorspace(&jpeg, JCS_YCCK);
  if (spec.components == 4 && !spec.adobe) jpeg.write_Adobe_marker = FALSE;
  jpeg_set_quality(&jpeg, spec.quality, TRUE);
  if (spec.components == 3 || spec.ycck) {
    for (int c : {0, 3}) {
      if (c >= spec.components) continue;
      jpeg.comp_info[c].h_samp_factor = spec.h;
      jpeg.comp_info[c].v_samp_factor = spec.v;
    }
  }
  if (spec.progressive) jpeg_simple_progression(&jpeg);
  jpeg.restart_interval = static_cast<unsigned>(spec.restart_interval);
  jpeg_start_compress(&jpeg, TRUE);
  if (spec.orientation != 0) write_exif(jpeg, spec.orientation);
  for (int y = 0; y < picture.height; ++y) {
    std::vector<std::uint8_t> row = input_row(picture, y, spec);
    JSAMPROW pointer = row.data();
    jpeg_write_scanlines(&jpeg, &pointer, 1);
  }
  jpeg_finish_compress(&jpeg);
  const auto* begin = reinterpret_cast<const std::byte*>(memory);
  File file(begin, begin + size);
  jpeg_destroy_compress(&jpeg);
  std::free(memory);
  return file;
}

Picture decode_plainly(Bytes file) {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg);
  Picture picture{static_cast<int>(jpeg.output_width), static_cast<int>(jpeg.output_height), {}};
  picture.pixels.resize(std::size_t{jpeg.output_width} * jpeg.output_height * 3);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = picture.at(0, static_cast<int>(jpeg.output_scanline));
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
  return picture;
}

std::shared_ptr<MemoryDataset> make_dataset(std::size_t count) {
  std::vector<File> files;
  for (std::size_t i = 0; i < count; ++i) {
    const int extra = static_cast<int>(i);
    files.push_back(
        make_jpeg(make_picture(40 + extra % 7, 36 + extra % 11, static_cast<unsigned>(i))));
  }
  return std::make_shared<MemoryDataset>(std::move(files));
}

void write(const fs::path& path, Bytes bytes) {
  fs::create_directories(path.parent_path());
  write_file(path, bytes);
}

std::vector<fs::path> photos() {
  std::vector<fs::path> found;
  const char* data = std::getenv("PACKHORSE_TEST_DATA");
  const fs::path folder = data == nullptr ? fs::path() : fs::path(data) / "imagenet/imagenet200";
  if (data != nullptr && fs::is_directory(folder)) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
  }
  if (found.empty()) {
    std::cerr << "note: no real photos to test with; set PACKHORSE_TEST_DATA to a directory that "
                 "holds imagenet/imagenet200/\n";
  }
  return found;
}

}  // namespace packhorse::reader::test
