#include "storage/http/retry.h"

#include "support/support.h"

namespace packhorse {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// Fri, 31 Dec 1999 23:59:00 GMT
constexpr std::chrono::system_clock::time_point kEveOf2000{seconds(946'684'740)};

TriesMade made(int tries, milliseconds since_first = {}) {
  TriesMade result;
  result.tries = tries;
  result.since_first = since_first;
  return result;
}

}  // namespace

TEST_CASE("Retry-After: seconds and dates") {
  CHECK(parse_retry_after("0", kEveOf2000) == seconds(0));
  CHECK(parse_retry_after("120", kEveOf2000) == seconds(120));
  CHECK(parse_retry_after("Fri, 31 Dec 1999 23:59:59 GMT", kEveOf2000) == seconds(59));
  CHECK(parse_retry_after("Fri, 31 Dec 1999 23:00:00 GMT", kEveOf2000) == seconds(0));
}

TEST_CASE("Retry-After: a day at most, whatever is said") {
  for (const char* text : {"86401", "999999999999", "99999999999999999999999999999",
                           "Fri, 31 Dec 9999 23:59:59 GMT"}) {
    CAPTURE(text);
    CHECK(parse_retry_after(text, kEveOf2000) == std::chrono::hours(24));
  }
}

TEST_CASE("Retry-After: what is neither is nothing") {
  for (const char* text : {"", "-1", "1.5", "soon", "2 weeks", "1e3", "Fri, 32 Foo 1999", " 1"}) {
    CAPTURE(text);
    CHECK(!parse_retry_after(text, kEveOf2000));
  }
  CHECK(!parse_retry_after(std::string(1000, '1'), kEveOf2000));
}

TEST_CASE("retry: pauses double, up to a bound, and have full jitter") {
  const StorageOptions options{.retries = 100, .retry_time = std::chrono::hours(1)};
  CHECK(pause_before_retry(made(1), options, 1) == milliseconds(100));
  CHECK(pause_before_retry(made(2), options, 1) == milliseconds(200));
  CHECK(pause_before_retry(made(4), options, 0.5) == milliseconds(400));
  CHECK(pause_before_retry(made(4), options, 0) == milliseconds(0));
  CHECK(pause_before_retry(made(60), options, 1) == seconds(20));
}

TEST_CASE("retry: ends by number and by time") {
  const StorageOptions options{.retries = 3, .retry_time = seconds(10)};
  CHECK(pause_before_retry(made(3), options, 0));
  CHECK(!pause_before_retry(made(4), options, 0));
  CHECK(!pause_before_retry(made(1, milliseconds(9950)), options, 1));
  CHECK(!pause_before_retry(made(1), {.retries = 0}, 0));
}

TEST_CASE("retry: what the server asks for is waited for, within the time") {
  const StorageOptions options{.retries = 3, .retry_time = seconds(10)};
  TriesMade asked = made(1);
  asked.retry_after = seconds(7);
  CHECK(pause_before_retry(asked, options, 1) == milliseconds(7100));
  asked.retry_after = seconds(11);
  CHECK(!pause_before_retry(asked, options, 0));
}

TEST_CASE("retry: a server that was never reached is tried three times") {
  TriesMade unreached = made(2);
  unreached.reached = false;
  CHECK(pause_before_retry(unreached, {}, 0));
  unreached.tries = 3;
  CHECK(!pause_before_retry(unreached, {}, 0));
}

}  // namespace packhorse
