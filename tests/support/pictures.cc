#include "pictures.h"

// jpeglib.h needs size_t and FILE, and includes neither.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/permutation.h"
#include "support.h"

namespace packhorse::test {

namespace fs = std::filesystem;

Picture make_picture(int width, int height, int channels, unsigned variant) {
  const int shift = static_cast<int>(variant);
  Picture picture{width, height, {}, channels};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const std::uint64_t place =
          static_cast<std::uint64_t>(y) * 65537 + static_cast<std::uint64_t>(x);
      const auto noise = static_cast<int>(mix64(place ^ (std::uint64_t{variant} << 40)) & 31);
      const bool edge = (x / 5 + y / 7 + shift) % 3 == 0;
      const int values[4] = {x * 200 / width + noise, edge ? 230 : y * 200 / height + noise / 2,
                             (x * y + 40 * shift) & 255, 255 - noise};
      for (int c = 0; c < channels; ++c) {
        picture.pixels.push_back(static_cast<std::uint8_t>(values[c]));
      }
    }
  }
  return picture;
}

Picture make_gradient(int width, int height) {
  Picture picture{width, height};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      picture.pixels.push_back(static_cast<std::uint8_t>(20 + x * 200 / width));
      picture.pixels.push_back(static_cast<std::uint8_t>(230 - y * 200 / height));
      picture.pixels.push_back(static_cast<std::uint8_t>(40 + (x + y) * 150 / (width + height)));
    }
  }
  return picture;
}

namespace {

void write_text_marker(jpeg_compress_struct& jpeg, int marker, const std::string& text) {
  jpeg_write_marker(&jpeg, marker, reinterpret_cast<const JOCTET*>(text.data()),
                    static_cast<unsigned>(text.size()));
}

void write_markers(jpeg_compress_struct& jpeg, const JpegSpec& spec) {
  if (spec.orientation != 0) {
    std::string exif("Exif\0\0MM\0*\0\0\0\x8\0\1\x1\x12\0\3\0\0\0\1\0\0\0\0\0\0\0\0", 32);
    exif[25] = static_cast<char>(spec.orientation);
    write_text_marker(jpeg, JPEG_APP0 + 1, exif);
  }
  if (!spec.profile.empty()) {
    write_text_marker(jpeg, JPEG_APP0 + 2, std::string("ICC_PROFILE\0\1\1", 14) + spec.profile);
  }
  if (!spec.comment.empty()) write_text_marker(jpeg, JPEG_COM, spec.comment);
}

/// The encoder's input for row `y`: the picture's row, or grey or CMYK made from RGB.
std::vector<std::uint8_t> input_row(const Picture& picture, int y, const JpegSpec& spec) {
  const std::uint8_t* row = picture.at(0, y);
  if (spec.components == 0 || spec.components == picture.channels)
    return {row, row + picture.width * picture.channels};
  std::vector<std::uint8_t> made;
  // Inverted CMY is RGB; inverted "no black" is 255.
  for (const std::uint8_t* rgb = row; rgb < row + 3 * picture.width; rgb += 3) {
    if (spec.components == 1) {
      made.push_back(rgb[1]);
    } else {
      for (int c = 0; c < 3; ++c) made.push_back(rgb[c]);
      made.push_back(255);
    }
  }
  return made;
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
  const int components = spec.components == 0 ? picture.channels : spec.components;
  jpeg.input_components = components;
  jpeg.in_color_space = components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  if (spec.rgb) jpeg_set_colorspace(&jpeg, JCS_RGB);
  if (spec.ycck) jpeg_set_colorspace(&jpeg, JCS_YCCK);
  if (!spec.adobe) jpeg.write_Adobe_marker = FALSE;
  jpeg_set_quality(&jpeg, spec.quality, TRUE);
  for (int c = 0; c < components; c += spec.ycck ? 3 : components) {  // black is sampled as luma is
    jpeg.comp_info[c].h_samp_factor = spec.h;
    jpeg.comp_info[c].v_samp_factor = spec.v;
  }
  if (spec.progressive) jpeg_simple_progression(&jpeg);
  jpeg.arith_code = spec.arithmetic ? TRUE : FALSE;
  jpeg.restart_interval = static_cast<unsigned>(spec.restart_interval);
  jpeg_start_compress(&jpeg, TRUE);
  write_markers(jpeg, spec);
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

File make_float_tiff() {
  File file;
  const auto add = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) file.push_back(static_cast<std::byte>(value >> 8 * i));
  };
  const std::pair<std::uint32_t, std::uint32_t> tags[] = {{256, 2}, {257, 1},   {258, 32}, {259, 1},
                                                          {262, 1}, {273, 134}, {277, 1},  {278, 1},
                                                          {279, 8}, {339, 3}};
  add(0x002a4949, 4);  // "II*"
  add(8, 4);
  add(std::size(tags), 2);
  for (const auto& [tag, value] : tags) {
    add(tag | 4 << 16, 4);  // one LONG
    add(1, 4);
    add(value, 4);
  }
  add(0, 4);
  file.resize(file.size() + 8);
  return file;
}

Picture decode_plainly(Bytes file, Colours colours, unsigned scale) {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&jpeg, TRUE);
  if (jpeg.num_components == 4) jpeg.out_color_space = JCS_CMYK;
  if (colours == Colours::kRgb) jpeg.out_color_space = JCS_RGB;
  jpeg.scale_denom = scale;
  jpeg_start_decompress(&jpeg);
  Picture picture{static_cast<int>(jpeg.output_width),
                  static_cast<int>(jpeg.output_height),
                  {},
                  jpeg.output_components};
  const std::size_t stride =
      std::size_t{jpeg.output_width} * static_cast<std::size_t>(picture.channels);
  picture.pixels.resize(stride * jpeg.output_height);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = picture.pixels.data() + jpeg.output_scanline * stride;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  CHECK(errors.num_warnings == 0);
  jpeg_destroy_decompress(&jpeg);
  return picture;
}

double psnr(const Picture& a, const Picture& b) {
  if (a.width != b.width || a.height != b.height || a.channels != b.channels) return 0;
  double sum = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    const double difference = double{1} * a.pixels[i] - b.pixels[i];
    sum += difference * difference;
  }
  if (sum == 0) return 99;
  return 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.pixels.size()) / sum);
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
    std::size_t i = 0;
    std::erase_if(found, [&](const fs::path&) { return i++ % kEvery != 0; });
  }
  if (found.empty()) skipped("PACKHORSE_TEST_DATA has no imagenet/imagenet200");
  return found;
}

}  // namespace packhorse::test
