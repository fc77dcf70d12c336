#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "packhorse/error.h"
#include "packhorse/reader/dataset.h"
#include "support/support.h"

/// The vocabulary of the reader's tests.
namespace packhorse::reader::test {

using File = std::vector<std::byte>;

/// RGB, 8 bit, interleaved.
struct Picture {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;
  const std::uint8_t* at(int x, int y) const {
    return pixels.data() + (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                            static_cast<std::size_t>(x)) *
                               3;
  }
  std::uint8_t* at(int x, int y) {
    return const_cast<std::uint8_t*>(std::as_const(*this).at(x, y));
  }
  friend bool operator==(const Picture&, const Picture&) = default;
};

/// Smooth colours, sharp edges and noise: nothing survives a mistake in it unnoticed. `variant`
/// changes it.
Picture make_picture(int width, int height, unsigned variant = 0);
Picture window_of(const Picture& picture, int x, int y, int w, int h);
/// Largest difference of two pictures of one size; 256 for different sizes.
int largest_difference(const Picture& a, const Picture& b);

struct JpegSpec {
  int h = 2, v = 2;    ///< luma sampling factors; chroma has 1 x 1
  int components = 3;  ///< 1: grey, 3: YCbCr, 4: CMYK
  bool ycck = false;   ///< for 4 components
  bool adobe = true;   ///< for 4 components: marker and inverted values
  bool progressive = false;
  int restart_interval = 0;  ///< MCUs
  int quality = 90;
  int orientation = 0;  ///< writes an EXIF segment when not 0
};
File make_jpeg(const Picture& picture, const JpegSpec& spec = {});
/// The whole picture by a plain libjpeg loop: what every partial decode is held against. 1 or 3
/// components.
Picture decode_plainly(Bytes file);

/// Samples in memory. Reading one that `broken` names throws.
class MemoryDataset : public Dataset {
 public:
  explicit MemoryDataset(std::vector<File> files) : files_(std::move(files)) {}
  std::size_t size() const override { return files_.size(); }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int64_t label(std::size_t i) const override { return static_cast<std::int64_t>(i) * 10; }
  std::uint64_t bytes(std::size_t i) const override { return files_[i].size(); }
  void read(std::size_t i, std::vector<std::byte>& out) const override {
    if (on_read) on_read(i);
    out = files_[i];
  }
  std::string describe(std::size_t i) const override {
    return "memory sample " + std::to_string(i);
  }
  std::vector<std::filesystem::path> files() const override { return {}; }
  std::string format() const override { return "memory"; }
  std::string image_mode() const override { return "original"; }

  std::function<void(std::size_t)> on_read;
  std::vector<File>& contents() { return files_; }

 private:
  std::vector<File> files_;
  std::vector<std::string> classes_{"all"};
};

/// `count` different small JPEGs.
std::shared_ptr<MemoryDataset> make_dataset(std::size_t count);

using packhorse::test::TemporaryDirectory;

void write(const std::filesystem::path& path, Bytes bytes);

/// Real photos, from $PACKHORSE_TEST_DATA/imagenet/imagenet200; none (and a note is printed) where that is
/// not set.
std::vector<std::filesystem::path> photos();

/// The kind of Error that `call` throws; fails the test when it throws none.
template <class Call>
ErrorKind kind_thrown_by(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind();
  }
  throw std::logic_error("no Error was thrown");
}

}  // namespace packhorse::reader::test
