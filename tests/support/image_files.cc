#include "support/image_files.h"

#include <webp/encode.h>
#include <zlib.h>

#include <stdexcept>

namespace packhorse::test {

namespace {

using namespace std::string_literals;

std::string number(std::uint32_t value, int bytes, bool big) {
  std::string text;
  for (int i = 0; i < bytes; ++i)
    text += static_cast<char>(value >> 8 * (big ? bytes - 1 - i : i) & 255);
  return text;
}
std::string big32(std::uint32_t value) { return number(value, 4, true); }
std::string little16(std::uint32_t value) { return number(value, 2, false); }
std::string little32(std::uint32_t value) { return number(value, 4, false); }

std::uint32_t wide(int value) { return static_cast<std::uint32_t>(value); }

/// The samples of row `y`, as many bytes each as they need.
std::string row_of(const ImageSamples& samples, int y, bool big) {
  std::string row;
  const std::size_t count = static_cast<std::size_t>(samples.width * samples.channels);
  for (std::size_t i = 0; i < count; ++i)
    row += number(samples.values[static_cast<std::size_t>(y) * count + i], samples.bits / 8, big);
  return row;
}

std::string png_chunk(const std::string& name, const std::string& body) {
  const std::string named = name + body;
  const auto sum =
      crc32(0, reinterpret_cast<const Bytef*>(named.data()), static_cast<uInt>(named.size()));
  return big32(static_cast<std::uint32_t>(body.size())) + named +
         big32(static_cast<std::uint32_t>(sum));
}

std::string png(const ImageSamples& samples) {
  std::string rows;
  for (int y = 0; y < samples.height; ++y) rows += '\0' + row_of(samples, y, true);
  uLongf size = compressBound(rows.size());
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(rows.data()), rows.size());
  packed.resize(size);
  constexpr char kColourTypes[] = {0, 0, 4, 2, 6};
  const std::string header = big32(wide(samples.width)) + big32(wide(samples.height)) +
                             static_cast<char>(samples.bits) + kColourTypes[samples.channels] +
                             "\0\0\0"s;
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + png_chunk("IDAT", packed) +
         png_chunk("IEND", "");
}

std::string tiff(const ImageSamples& samples) {
  std::string pixels;
  for (int y = 0; y < samples.height; ++y) pixels += row_of(samples, y, false);
  constexpr std::uint32_t kDirectory = 8, kTags = 10, kLong = 4;
  const std::uint32_t begin = kDirectory + 2 + 12 * kTags + 4;
  const auto tag = [](std::uint32_t name, std::uint32_t value) {
    return little16(name) + little16(kLong) + little32(1) + little32(value);
  };
  // One number of bits stands for all samples.
  return "II*\0"s + little32(kDirectory) + little16(kTags) + tag(256, wide(samples.width)) +
         tag(257, wide(samples.height)) + tag(258, wide(samples.bits)) + tag(259, 1) +
         tag(262, samples.channels >= 3 ? 2 : 1) + tag(273, begin) +
         tag(277, wide(samples.channels)) + tag(278, wide(samples.height)) +
         tag(279, static_cast<std::uint32_t>(pixels.size())) +
         tag(338, samples.channels % 2 == 0 ? 2 : 0) + little32(0) + pixels;
}

std::string bmp(const ImageSamples& samples) {
  std::string pixels;
  for (int y = samples.height; y-- > 0;) {
    std::string row = row_of(samples, y, false);
    for (std::size_t i = 0; i + 2 < row.size(); i += 3) std::swap(row[i], row[i + 2]);
    row.resize((row.size() + 3) / 4 * 4);
    pixels += row;
  }
  constexpr std::uint32_t kHeaders = 54;
  return "BM" + little32(kHeaders + static_cast<std::uint32_t>(pixels.size())) + little32(0) +
         little32(kHeaders) + little32(40) + little32(wide(samples.width)) +
         little32(wide(samples.height)) + little16(1) + little16(24) + std::string(24, '\0') +
         pixels;
}

std::string pnm(const ImageSamples& samples) {
  std::string file = (samples.channels == 1 ? "P5 " : "P6 ") + std::to_string(samples.width) + " " +
                     std::to_string(samples.height) + (samples.bits == 8 ? " 255\n" : " 65535\n");
  for (int y = 0; y < samples.height; ++y) file += row_of(samples, y, true);
  return file;
}

std::string webp(const ImageSamples& samples) {
  std::string pixels;
  for (int y = 0; y < samples.height; ++y) pixels += row_of(samples, y, false);
  std::uint8_t* made = nullptr;
  const std::size_t size = (samples.channels == 4 ? WebPEncodeLosslessRGBA : WebPEncodeLosslessRGB)(
      reinterpret_cast<const std::uint8_t*>(pixels.data()), samples.width, samples.height,
      samples.width * samples.channels, &made);
  std::string file(reinterpret_cast<const char*>(made), size);
  WebPFree(made);
  return file;
}

}  // namespace

ImageSamples ImageSamples::of(const Picture& picture, int bits) {
  ImageSamples samples{picture.width, picture.height, picture.channels, bits, {}};
  for (const std::uint8_t value : picture.pixels)
    samples.values.push_back(static_cast<std::uint16_t>(bits == 8 ? value : value * 257));
  return samples;
}

File make_image_file(const std::string& extension, const ImageSamples& samples) {
  const auto file_of = [&]() -> std::string {
    if (extension == ".png") return png(samples);
    if (extension == ".tiff") return tiff(samples);
    if (extension == ".bmp" && samples.channels == 3 && samples.bits == 8) return bmp(samples);
    if (extension == ".webp" && samples.channels >= 3 && samples.bits == 8) return webp(samples);
    if ((extension == ".ppm" && samples.channels == 3) ||
        (extension == ".pgm" && samples.channels == 1))
      return pnm(samples);
    return {};
  };
  const std::string file = file_of();
  if (file.empty()) throw std::invalid_argument(extension + " has no such samples");
  const Bytes bytes = as_bytes(file);
  return {bytes.begin(), bytes.end()};
}

}  // namespace packhorse::test
