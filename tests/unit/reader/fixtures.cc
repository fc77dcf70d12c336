#include "fixtures.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <thread>

#include "codecs/image_header.h"
#include "transforms/transform.h"

namespace packhorse::reader::test {

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

void PictureSink::take(const PixelView& rows) {
  picture.width = rows.width;
  picture.height += rows.height;
  for (int y = 0; y < rows.height; ++y) {
    const std::uint8_t* row = rows.data + static_cast<std::size_t>(y) * rows.stride;
    picture.pixels.insert(picture.pixels.end(), row, row + kChannels * rows.width);
  }
}

File make_roi(Bytes file, int restart_mcus) {
  ImageInfo info = probe_image(file).info.value();
  File buffer;
  const Transformed made =
      find_transform("roi").make({.restart_mcus = restart_mcus})->apply(file, info, buffer);
  return {made.bytes.begin(), made.bytes.end()};
}

std::shared_ptr<MemoryDataset> make_dataset(std::size_t count) {
  std::vector<File> files;
  for (std::size_t i = 0; i < count; ++i) {
    const int extra = static_cast<int>(i);
    files.push_back(
        make_jpeg(make_picture(40 + extra % 7, 36 + extra % 11, 3, static_cast<unsigned>(i))));
  }
  return std::make_shared<MemoryDataset>(std::move(files));
}

std::size_t entries_of(const char* folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                                std::filesystem::directory_iterator()));
}

bool no_more_threads_than(std::size_t most) {
  constexpr int kTries = 60'000;
  for (int tries = 0; tries < kTries; ++tries) {
    if (entries_of("/proc/self/task") <= most) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace packhorse::reader::test
