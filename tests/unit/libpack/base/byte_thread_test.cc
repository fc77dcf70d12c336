#include "base/byte_thread.h"

#include <string>

#include "support/support.h"

namespace packhorse {

namespace {

using test::kind_of_error;

/// A piece whose first byte is `number`.
ByteThread::Piece piece(BufferPool& pool, int number) {
  const std::shared_ptr<AlignedBuffer> buffer = pool.take();
  buffer->data()[0] = static_cast<std::byte>(number);
  return {buffer, 1, static_cast<std::uint64_t>(number)};
}

}  // namespace

TEST_CASE("byte thread: works through all pieces, in order") {
  BufferPool pool;
  std::string seen;
  ByteThread thread([&](const ByteThread::Piece& next) { seen += as_text(next.bytes()); });
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    thread.push(piece(pool, i));
    expected += static_cast<char>(i);
  }
  thread.finish();
  CHECK(seen == expected);
}

TEST_CASE("byte thread: what the work throws reaches who pushes, or who finishes") {
  BufferPool pool;
  for (const int pieces : {1, 100}) {
    CAPTURE(pieces);
    int worked = 0;
    ByteThread thread([&](const ByteThread::Piece&) {
      ++worked;
      throw Error(ErrorKind::kNoSpace, "full");
    });
    CHECK(kind_of_error([&] {
            for (int i = 0; i < pieces; ++i) thread.push(piece(pool, i));
            thread.finish();
          }) == ErrorKind::kNoSpace);
    CHECK(worked == 1);
  }
}

TEST_CASE("byte thread: without finish() what waits is dropped") {
  BufferPool pool;
  std::string seen;
  {
    ByteThread thread([&](const ByteThread::Piece& next) { seen += as_text(next.bytes()); });
    for (int i = 0; i < 4; ++i) thread.push(piece(pool, i));
  }
  CHECK(std::string("\0\1\2\3", 4).starts_with(seen));
}

TEST_CASE("buffer pool: a buffer comes back when the last who holds it lets go") {
  BufferPool pool;
  std::shared_ptr<AlignedBuffer> first = pool.take();
  const std::byte* const memory = first->data();
  {
    ByteThread thread([](const ByteThread::Piece&) {});
    thread.push({first, 1, 0});
    CHECK(pool.take()->data() != memory);
    first.reset();
    thread.finish();
  }
  const auto second = pool.take(), third = pool.take();
  CHECK((second->data() == memory || third->data() == memory));
}

}  // namespace packhorse
