#include "seeds.h"

// jpeglib.h needs size_t and FILE, and includes neither.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "codecs/image_header.h"
#include "transforms/transform.h"

namespace packhorse::fuzz {

namespace {

struct Kind {
  int h, v, components;
};
constexpr Kind kKinds[] = {{1, 1, 3}, {2, 1, 3}, {1, 2, 3}, {2, 2, 3}, {1, 1, 1}};

/// Waves of any length, and noise.
std::vector<unsigned char> make_pixels(int width, int height, std::mt19937_64& random) {
  std::vector<unsigned char> pixels(static_cast<std::size_t>(width * height) * 3);
  const auto noise = 1 + random() % 256, slope = random() % 64;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<unsigned char>(i * slope / 8 + random() % noise);
  }
  return pixels;
}

struct Size {
  int width, height;
};

int draw(std::mt19937_64& random, int from, int to) {
  return from + static_cast<int>(random() % static_cast<std::uint64_t>(to - from + 1));
}

/// Draws a size: mostly small; sometimes nearly as many MCU rows of one MCU as there can be, or as
/// wide and flat.
Size draw_size(std::mt19937_64& random) {
  if (random() % 8 != 0) return {draw(random, 1, 80), draw(random, 1, 60)};
  const int length = draw(random, 100, random() % 16 == 0 ? 65500 : 3000);
  const int other = draw(random, 1, random() % 4 == 0 ? 16 : 8);
  return random() % 2 == 0 ? Size{other, length} : Size{length, other};
}

File make(std::mt19937_64& random) {
  const Kind& kind = kKinds[random() % std::size(kKinds)];
  const auto [width, height] = draw_size(random);
  const std::vector<unsigned char> pixels = make_pixels(width, height, random);
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &memory, &size);
  jpeg.image_width = static_cast<JDIMENSION>(width);
  jpeg.image_height = static_cast<JDIMENSION>(height);
  jpeg.input_components = kind.components;
  jpeg.in_color_space = kind.components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, random() % 3 == 0 ? 100 : draw(random, 1, 100), TRUE);
  jpeg.optimize_coding = random() % 2 == 0 ? TRUE : FALSE;
  jpeg.comp_info[0].h_samp_factor = kind.h;
  jpeg.comp_info[0].v_samp_factor = kind.v;
  jpeg.restart_interval = random() % 2 == 0 ? 0 : static_cast<unsigned>(draw(random, 1, 12));
  if (random() % 4 == 0) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  for (int y = 0; y < height; ++y) {
    JSAMPROW row = const_cast<unsigned char*>(pixels.data()) + y * width * kind.components;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  const auto* begin = reinterpret_cast<const std::byte*>(memory);
  File file(begin, begin + size);
  jpeg_destroy_compress(&jpeg);
  std::free(memory);
  return file;
}

/// Leaves out most of the file's scan, but not its end: it then has fewer bytes than blocks.
File starved(File file, std::mt19937_64& random) {
  const std::byte start[] = {std::byte{0xff}, std::byte{0xda}};
  const auto scan = std::search(file.begin(), file.end(), std::begin(start), std::end(start));
  const auto from = scan + 14, end = file.end() - 2;
  if (from < end) file.erase(from + static_cast<std::ptrdiff_t>(random() % 64) % (end - from), end);
  return file;
}

File with_roi_table(const File& file, int interval) {
  TransformOptions options;
  options.restart_mcus = interval;
  ImageInfo info = probe_image(file).info.value();
  std::vector<std::byte> output;
  const Transformed made = find_transform("roi").make(options)->apply(file, info, output);
  return {made.bytes.begin(), made.bytes.end()};
}

}  // namespace

std::vector<File> made_seeds(std::size_t count, std::mt19937_64& random) {
  std::vector<File> seeds;
  while (seeds.size() < count) {
    seeds.push_back(make(random));
    if (random() % 3 == 0) {
      seeds.push_back(with_roi_table(seeds.back(), 1 + static_cast<int>(random() % 6)));
    }
    if (random() % 4 == 0) seeds.push_back(starved(seeds.back(), random));
  }
  return seeds;
}

std::vector<File> photo_seeds(const std::filesystem::path& folder, std::size_t max_bytes) {
  std::vector<File> seeds;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.file_size() > max_bytes) continue;
    File file = read_file(entry.path());
    const ProbeResult probe = probe_image(file);
    if (probe.info && probe.info->kind == ImageKind::kJpeg) seeds.push_back(std::move(file));
  }
  return seeds;
}

}  // namespace packhorse::fuzz
