#include "fixtures.h"

// jpeglib.h needs size_t and FILE, and includes neither.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "codecs/image_header.h"
#include "transforms/transform.h"

namespace packhorse::jpeg::test {

using packhorse::test::Picture;

namespace {

/// Stacks rows into a picture.
class Rows : public RowSink {
 public:
  Rows(const Window& window, std::vector<std::uint8_t>& pixels)
      : row_(std::size_t{3} * window.width), left_(window.height), pixels_(pixels) {}
  void take(const std::uint8_t* rows, std::size_t stride, std::uint32_t count) override {
    REQUIRE(count > 0);
    REQUIRE(count <= left_);
    left_ -= count;
    CHECK((count % 8 == 0 || left_ == 0));
    for (; count > 0; --count, rows += stride) pixels_.insert(pixels_.end(), rows, rows + row_);
    // Bytes after the last row must be readable: a sanitizer checks that.
    volatile std::uint8_t last = *(rows - stride + row_ + kSlack - 1);
    (void)last;
  }

 private:
  std::size_t row_;
  std::uint32_t left_;
  std::vector<std::uint8_t>& pixels_;
};

/// Checks that decode() gives a sink the same rows as an output.
void check_rows(Bytes file, const Window& window, const Picture& expected, const Result& result,
                Scratch& scratch, Scale scale) {
  std::vector<std::uint8_t> pixels;
  Rows rows(window, pixels);
  const Result by_rows = decode(file, window, rows, scratch, scale);
  REQUIRE(by_rows.reason == result.reason);
  REQUIRE(by_rows.width == result.width);
  REQUIRE(by_rows.height == result.height);
  if (result.done()) REQUIRE((pixels == expected.pixels));
}

}  // namespace

std::optional<Picture> decoded(Bytes file, const Window& window, Scratch& scratch, Reason* reason,
                               Scale scale) {
  constexpr std::uint8_t kGuard = 0xa5;
  const std::size_t row = std::size_t{3} * window.width, stride = row + 7;
  std::vector<std::uint8_t> memory(stride * window.height, kGuard);
  const File copy(file.begin(), file.end());  // a sanitizer sees where it ends
  const std::span<std::uint8_t> pixels(memory.data(), memory.size() - 7);
  const Result result = decode(copy, window, {pixels, stride}, scratch, scale);
  if (reason != nullptr) *reason = result.reason;
  Picture picture{static_cast<int>(window.width), static_cast<int>(window.height), {}};
  for (std::size_t y = 0; y < window.height; ++y) {
    const auto begin = memory.begin() + static_cast<std::ptrdiff_t>(y * stride);
    const auto end = begin + static_cast<std::ptrdiff_t>(row);
    picture.pixels.insert(picture.pixels.end(), begin, end);
    REQUIRE(std::all_of(end, begin + static_cast<std::ptrdiff_t>(stride),
                        [](std::uint8_t b) { return b == kGuard; }));
  }
  check_rows(copy, window, picture, result, scratch, scale);
  if (!result.done()) return std::nullopt;
  return picture;
}

Picture decoded_by_libjpeg(Bytes file, Scale scale) {
  return packhorse::test::decode_plainly(file, packhorse::test::Colours::kRgb,
                                         static_cast<unsigned>(scale));
}

Window whole(const Picture& picture) {
  return {0, 0, static_cast<std::uint32_t>(picture.width),
          static_cast<std::uint32_t>(picture.height)};
}

Picture window_of(const Picture& picture, const Window& window) {
  Picture out{static_cast<int>(window.width), static_cast<int>(window.height), {}};
  for (std::uint32_t y = 0; y < window.height; ++y) {
    const std::uint8_t* row =
        picture.at(static_cast<int>(window.x), static_cast<int>(window.y + y));
    out.pixels.insert(out.pixels.end(), row, row + std::size_t{3} * window.width);
  }
  return out;
}

Window draw_window(std::mt19937& random, std::uint32_t width, std::uint32_t height) {
  const auto draw = [&](std::uint32_t size, std::uint32_t& from, std::uint32_t& length) {
    length =
        1 + static_cast<std::uint32_t>(random()) % (random() % 3 == 0 ? std::min(size, 9u) : size);
    from = static_cast<std::uint32_t>(random()) % (size - length + 1);
  };
  Window window;
  draw(width, window.x, window.width);
  draw(height, window.y, window.height);
  return window;
}

File made_of_extremes(std::mt19937& random, unsigned step) {
  constexpr JDIMENSION kBlocks = kSideOfExtremes / DCTSIZE;  // each way
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &memory, &size);
  jpeg.image_width = jpeg.image_height = 8 * kBlocks;
  jpeg.input_components = 1;
  jpeg.in_color_space = JCS_GRAYSCALE;
  jpeg_set_defaults(&jpeg);
  std::fill_n(jpeg.quant_tbl_ptrs[0]->quantval, DCTSIZE2, static_cast<UINT16>(step));
  jvirt_barray_ptr blocks = jpeg.mem->request_virt_barray(reinterpret_cast<j_common_ptr>(&jpeg),
                                                          JPOOL_IMAGE, TRUE, kBlocks, kBlocks, 1);
  jpeg_write_coefficients(&jpeg, &blocks);
  for (JDIMENSION y = 0; y < kBlocks; ++y) {
    JBLOCKARRAY row =
        jpeg.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&jpeg), blocks, y, 1, TRUE);
    for (JDIMENSION x = 0; x < kBlocks; ++x) {
      const int count = random() % 3 != 0 ? DCTSIZE2 : random() % 2 != 0 ? DCTSIZE : 1;
      const int range = random() % 2 != 0 ? 1023 : 40;
      std::fill_n(row[0][x], DCTSIZE2, JCOEF{0});
      for (int i = 0; i < count; ++i) {
        row[0][x][i] = static_cast<JCOEF>(
            static_cast<int>(random() % static_cast<unsigned>(2 * range + 1)) - range);
      }
    }
  }
  jpeg_finish_compress(&jpeg);
  const auto* begin = reinterpret_cast<const std::byte*>(memory);
  File file(begin, begin + size);
  jpeg_destroy_compress(&jpeg);
  std::free(memory);
  return file;
}

File made_of_starved_blocks(std::uint32_t rows, std::size_t bytes) {
  File file;
  const auto add = [&](std::initializer_list<unsigned> values) {
    for (const unsigned value : values) file.push_back(static_cast<std::byte>(value));
  };
  const auto add_table = [&](unsigned which, unsigned symbol) {  // one code of one bit
    add({0xff, 0xc4, 0, 20, which, 1});
    file.insert(file.end(), 15, std::byte{0});
    add({symbol});
  };
  const unsigned height = 8 * rows;
  add({0xff, 0xd8, 0xff, 0xdb, 0, 67, 0});
  file.insert(file.end(), 64, std::byte{1});
  add({0xff, 0xc0, 0, 11, 8, height >> 8, height & 255, 0, 8, 1, 1, 0x11, 0});
  add_table(0x00, 0x00);  // DC: no difference
  add_table(0x10, 0x0a);  // AC: a value of ten bits
  add({0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0});
  file.insert(file.end(), bytes, std::byte{0});
  add({0xff, 0xd9});
  return file;
}

File made_roi(Bytes file, int restart_mcus) {
  TransformOptions options;
  options.restart_mcus = restart_mcus;
  ImageInfo info = probe_image(file).info.value();
  std::vector<std::byte> output;
  const Transformed made = find_transform("roi").make(options)->apply(file, info, output);
  return {made.bytes.begin(), made.bytes.end()};
}

}  // namespace packhorse::jpeg::test
