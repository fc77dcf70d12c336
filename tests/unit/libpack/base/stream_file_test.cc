#include "base/stream_file.h"

#include <sys/resource.h>

#include <csignal>
#include <string>

#include "support/support.h"

namespace packhorse {

namespace {

using test::kind_of_error;
using test::TemporaryDirectory;

constexpr std::size_t kPiece = AlignedBuffer::kBytes;

std::string text_of(std::size_t size) {
  std::string text(size, 'x');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + (i >> 9));
  return text;
}

}  // namespace

TEST_CASE("stream file: holds what was written, and knows its SHA-256, around every boundary") {
  const TemporaryDirectory directory;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kPiece - 1, kPiece, kPiece + 1,
                                 4 * kPiece, 9 * kPiece + 4097}) {
    CAPTURE(size);
    const std::string text = text_of(size);
    StreamFile file(directory / "a");
    file.write(as_bytes(text).first(size / 3));
    file.write(as_bytes(text).subspan(size / 3));
    CHECK(file.position() == size);
    CHECK(file.commit() == sha256(as_bytes(text)));
    CHECK(read_text(directory / "a") == text);
  }
}

TEST_CASE("stream file: what is replaced counts, wherever it stands, and so does its SHA-256") {
  const TemporaryDirectory directory;
  using Front = StreamFile::Front;
  for (const Front front : {Front::kFinal, Front::kProvisional}) {
    for (const std::size_t size : {std::size_t{9}, kPiece + 1, 9 * kPiece + 4097}) {
      CAPTURE(size);
      std::string text = text_of(size);
      StreamFile file(directory / "a", front);
      file.write(as_bytes(text));
      file.replace(0, "front");
      file.replace(size - 3, "end");
      text.replace(0, 5, "front").replace(size - 3, 3, "end");
      CHECK(file.position() == size);
      CHECK(file.commit() == sha256(as_bytes(text)));
      CHECK(read_text(directory / "a") == text);
    }
  }
}

TEST_CASE("stream file: without commit() nothing is left, however much was written") {
  const TemporaryDirectory directory;
  for (const std::size_t size : {std::size_t{9}, 7 * kPiece}) {
    StreamFile(directory / "a").write(as_bytes(text_of(size)));
    CHECK(std::filesystem::is_empty(directory.path()));
  }
}

TEST_CASE("stream file: what the disk refuses reaches the writer, and leaves nothing") {
  const TemporaryDirectory directory;
  // A limit on file sizes refuses writes in the middle of a piece, as a full disk does.
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{5 * kPiece + 12345, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const ErrorKind kind = kind_of_error([&] {
    StreamFile file(directory / "a");
    file.write(as_bytes(text_of(9 * kPiece)));
    file.commit();
  });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  CHECK(kind == ErrorKind::kIo);
  CHECK(std::filesystem::is_empty(directory.path()));
}

}  // namespace packhorse
