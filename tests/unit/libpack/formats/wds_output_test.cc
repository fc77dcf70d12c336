#include "base/permutation.h"
#include "base/zstd_frame.h"
#include "formats/wds/output.h"
#include "support/support.h"

namespace packhorse::wds {

namespace {

constexpr int kLevel = 5;

/// Content of which half can be compressed.
std::string content_of(std::size_t size, std::uint64_t seed) {
  std::string content(size, 'c');
  for (std::size_t i = 0; i < size / 2; ++i)
    content[i] = static_cast<char>(mix64(seed * 1'000'003 + i) & 0xff);
  return content;
}

std::string frame_of(const std::string& content) {
  std::vector<std::byte> frame(frame_bound(content.size()));
  return std::string(as_text(frame).substr(0, compress_frame(kLevel, as_bytes(content), frame)));
}

}  // namespace

TEST_CASE("wds output: frames lie in order, each as if it had been compressed alone") {
  const test::TemporaryDirectory directory;
  Output output(directory / "a", kLevel, 0);
  std::string expected, whole;
  std::vector<Frame> frames;
  // Many small members, some that fill the queue together, one larger than the queue.
  for (std::size_t i = 0; i < 400; ++i) {
    const std::size_t size = i == 200 ? 9u << 20 : i > 250 ? 100'000 + i : 1 + i;
    const std::string content = content_of(size, i);
    output.write(as_bytes(content).first(size / 2));
    output.write(as_bytes(content).subspan(size / 2));
    CHECK(output.position() == whole.size() + size);
    output.end_frame();
    const std::string frame = frame_of(content);
    frames.push_back({{expected.size(), frame.size()}, {whole.size(), size}});
    expected += frame;
    whole += content;
  }
  CHECK(output.commit() == sha256(as_bytes(expected)));
  CHECK(output.take_frames() == frames);
  const bool same = read_text(directory / "a") == expected;
  CHECK(same);
}

TEST_CASE("wds output: without commit() nothing is left of what waits") {
  const test::TemporaryDirectory directory;
  {
    Output output(directory / "a", kLevel, 0);
    for (int i = 0; i < 60; ++i) {
      output.write(as_bytes(content_of(100'000, 1)));
      output.end_frame();
    }
  }
  CHECK(std::filesystem::is_empty(directory.path()));
}

}  // namespace packhorse::wds
