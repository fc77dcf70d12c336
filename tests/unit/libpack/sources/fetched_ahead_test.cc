#include "sources/objects/fetched_ahead.h"

#include <atomic>
#include <stdexcept>
#include <thread>

#include "support/support.h"

namespace packhorse {
namespace {

using Content = std::vector<std::byte>;

Content content_of(std::size_t bytes) { return Content(bytes, std::byte{'x'}); }

}  // namespace

TEST_CASE("fetched ahead: a file is taken once") {
  FetchedAhead ahead(100);
  Content out = content_of(9);
  ahead.fetch(1, 3, [] { return content_of(3); });
  CHECK(ahead.take(1, out));
  CHECK(out == content_of(3));
  CHECK(!ahead.take(1, out));
}

TEST_CASE("fetched ahead: what fails or has another size is not kept") {
  FetchedAhead ahead(100);
  Content out;
  ahead.fetch(1, 3, []() -> Content { throw std::runtime_error("no"); });
  ahead.fetch(2, 3, [] { return content_of(4); });
  CHECK(!ahead.take(1, out));
  CHECK(!ahead.take(2, out));
  ahead.fetch(3, 100, [] { return content_of(100); });  // there is room for all of it again
  CHECK(ahead.take(3, out));
}

TEST_CASE("fetched ahead: nothing is fetched beyond the limit, and nobody waits for ever") {
  FetchedAhead ahead(10);
  Content out;
  int asked = 0;
  const auto get = [&] {
    ++asked;
    return content_of(8);
  };
  for (std::uint64_t number = 1; number <= 100; ++number) ahead.fetch(number, 8, get);
  CHECK(asked == 1);
  CHECK(ahead.take(1, out));
  ahead.fetch(101, 8, get);
  CHECK(asked == 2);
}

TEST_CASE("fetched ahead: what is larger than all of it is not fetched") {
  FetchedAhead ahead(10);
  bool asked = false;
  ahead.fetch(1, 11, [&] {
    asked = true;
    return content_of(11);
  });
  CHECK(!asked);
}

TEST_CASE("fetched ahead: what was needed before is not fetched any more, once") {
  FetchedAhead ahead(10);
  Content out;
  int asked = 0;
  const auto get = [&] {
    ++asked;
    return content_of(3);
  };
  CHECK(!ahead.take(1, out));  // before anything is fetched ahead, nobody is late
  ahead.fetch(1, 3, get);
  CHECK(ahead.take(1, out));
  CHECK(asked == 1);
  asked = 0;
  CHECK(!ahead.take(1, out));
  ahead.fetch(1, 3, get);
  CHECK(asked == 0);
  ahead.fetch(1, 3, get);
  CHECK(asked == 1);
  CHECK(ahead.take(1, out));
}

TEST_CASE("fetched ahead: whoever needs a file waits while it is on its way") {
  FetchedAhead ahead(100);
  std::atomic<bool> asked{false}, go{false};
  std::jthread fetching([&] {
    ahead.fetch(7, 3, [&] {
      asked = true;
      while (!go) std::this_thread::yield();
      return content_of(3);
    });
  });
  while (!asked) std::this_thread::yield();
  std::jthread letting([&] { go = true; });
  Content out;
  CHECK(ahead.take(7, out));
  CHECK(out == content_of(3));
}

}  // namespace packhorse
