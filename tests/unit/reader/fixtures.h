#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "packhorse/reader/dataset.h"
#include "pixels/pixels.h"
#include "support/pictures.h"
#include "support/support.h"

/// The vocabulary of the reader's tests.
namespace packhorse::reader::test {

using packhorse::test::File;
using packhorse::test::JpegSpec;
using packhorse::test::kind_of_error;
using packhorse::test::make_gradient;
using packhorse::test::make_jpeg;
using packhorse::test::make_picture;
using packhorse::test::photos;
using packhorse::test::Picture;
using packhorse::test::put;
using packhorse::test::TemporaryDirectory;

/// The reference for every partial decode: the whole picture, decoded in a plain libjpeg loop.
inline Picture decode_plainly(Bytes file) {
  return packhorse::test::decode_plainly(file, packhorse::test::Colours::kRgb);
}

Picture window_of(const Picture& picture, int x, int y, int w, int h);
/// The largest difference between two pictures of one size; 256 for different sizes.
int largest_difference(const Picture& a, const Picture& b);

/// Stacks rows into a picture.
struct PictureSink : PixelSink {
  Picture picture;
  void start() override { picture = {}; }
  void take(const PixelView& rows) override;
};

/// The JPEG that packing with `--image roi` makes of `file`.
File make_roi(Bytes file, int restart_mcus = 4);

/// Samples in memory. Reading a sample in `broken` throws.
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
  ImageInfo image(std::size_t i) const override { return on_image ? on_image(i) : ImageInfo{}; }

  std::function<void(std::size_t)> on_read;
  std::function<ImageInfo(std::size_t)> on_image;  ///< as an index would say
  std::vector<File>& contents() { return files_; }

 private:
  std::vector<File> files_;
  std::vector<std::string> classes_{"all"};
};

/// `count` different small JPEGs.
std::shared_ptr<MemoryDataset> make_dataset(std::size_t count);

/// The entries of /proc/self/task (threads) or /proc/self/fd (open files).
std::size_t entries_of(const char* folder);
/// Whether the process has come down to that many threads. One that was joined is listed for a
/// moment more, so this waits for it, also for those of earlier tests: there may be fewer.
bool no_more_threads_than(std::size_t most);

}  // namespace packhorse::reader::test
