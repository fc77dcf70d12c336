#include "base/zstd_frame.h"

#include <cstdlib>
#include <thread>

#include "base/file.h"
#include "support/support.h"

namespace packhorse {

namespace {

using test::kind_of_error;

std::string frame_of(const std::string& content, int level = 3) {
  std::vector<std::byte> frame(frame_bound(content.size()));
  return std::string(as_text(frame).substr(0, compress_frame(level, as_bytes(content), frame)));
}

std::string content_of(const std::string& frame, std::size_t size) {
  std::string content(size, '\0');
  decompress_frame(as_bytes(frame), std::as_writable_bytes(std::span(content)));
  return content;
}

bool is_corrupt(const std::string& frame, std::size_t size) {
  return kind_of_error([&] { content_of(frame, size); }) == ErrorKind::kCorrupt;
}

}  // namespace

TEST_CASE("zstd frame: gives back its content, at any size and level") {
  for (const int level : {1, 3, 19}) {
    for (const std::size_t size : {0u, 1u, 512u, 131071u, 131072u, 131073u, 3000000u}) {
      std::string content(size, 'a');
      for (std::size_t i = 0; i < size; i += 7) content[i] = static_cast<char>(i * i >> 4);
      const bool same = content_of(frame_of(content, level), size) == content;
      CHECK(same);
    }
  }
}

TEST_CASE("zstd frame: what was compressed before changes nothing") {
  for (int i = 0; i < 200; ++i)
    frame_of(std::string(static_cast<std::size_t>(i * 3001), 'x'), 1 + i % 19);
  for (const char* part : {"shapes/train", "shapes/val"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(test::samples() / part)) {
      if (!entry.is_regular_file()) continue;
      const std::string content = read_text(entry.path());
      const std::string used = frame_of(content);
      std::string fresh;
      std::thread([&] { fresh = frame_of(content); }).join();  // with a context of its own
      CHECK(used == fresh);
    }
  }
}

TEST_CASE("zstd frame: any flipped bit is found") {
  std::string content = "some text, some more text, and some text again";
  for (int i = 0; i < 60; ++i) content += std::to_string(i * i);
  const std::string good = frame_of(content);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string frame = good;
      frame[at] = static_cast<char>(frame[at] ^ (1 << bit));
      CAPTURE(at);
      CAPTURE(bit);
      // One or two flags of the header do not affect the content.
      try {
        const bool same = content_of(frame, content.size()) == content;
        CHECK(same);
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::kCorrupt);
      }
    }
  }
}

TEST_CASE("zstd frame: what would expand too far is written as it is, and any zstd tool reads it") {
  const std::string blank((64u << 20) + 5, 'b');
  const std::string frame = frame_of(blank);
  CHECK(frame.size() > blank.size());
  CHECK(frame.size() <= frame_bound(blank.size()));
  const bool same = content_of(frame, blank.size()) == blank;
  CHECK(same);
  CHECK(frame_of(blank.substr(5)).size() < 10000);
}

TEST_CASE("zstd frame: makes room only for what frame and index agree on, within bounds") {
  std::vector<std::byte> content;
  const std::string frame = frame_of("some text");
  decompress_frame(as_bytes(frame), 9, content);
  CHECK(as_text(content) == "some text");
  const auto refused = [&](const std::string& bytes, std::uint64_t size) {
    content = std::vector<std::byte>();  // starts with no capacity
    const bool corrupt = kind_of_error([&] { decompress_frame(as_bytes(bytes), size, content); }) ==
                         ErrorKind::kCorrupt;
    return corrupt && content.capacity() == 0;
  };
  CHECK(refused(frame, 8));
  CHECK(refused(frame, std::uint64_t{1} << 62));
  CHECK(refused("no frame", 9));
  std::string bomb = frame_of(std::string(64u << 20, 'b'));
  bomb[6] = '\x01';  // the content size in the header: one byte more than is allowed
  CHECK(refused(bomb, (64u << 20) + 1));
  CHECK(frame_may_hold(1, 64u << 20));
  CHECK_FALSE(frame_may_hold(262143, (64u << 20) + 256));
  CHECK(frame_may_hold(std::uint64_t{1} << 40, std::uint64_t{1} << 48));
  CHECK_FALSE(frame_may_hold(~std::uint64_t{0} >> 9, ~std::uint64_t{0}));
}

TEST_CASE("zstd frame: cut, longer, or of another size than it should be, it is corrupt") {
  const std::string content(1000, 'c');
  const std::string good = frame_of(content);
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK(is_corrupt(good.substr(0, size), content.size()));
  CHECK(is_corrupt(good + '\0', content.size()));
  CHECK(is_corrupt(good + good, content.size()));
  CHECK(is_corrupt(good, content.size() - 1));
  CHECK(is_corrupt(good, content.size() + 1));
}

}  // namespace packhorse
