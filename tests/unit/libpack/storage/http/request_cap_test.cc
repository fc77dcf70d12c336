#include "storage/http/request_cap.h"

#include <algorithm>

#include "support/support.h"

namespace packhorse {

namespace {

using namespace std::chrono_literals;
using Clock = RequestCap::Clock;

constexpr std::uint64_t kBody = 4u << 20;

/// A link on which requests of 4 MiB take `delay`, unless more of them are under way than its
/// bandwidth lets through in that time.
class Link {
 public:
  Link(Clock::duration delay, double bytes_per_second)
      : delay_(std::chrono::duration<double>(delay).count()), bandwidth_(bytes_per_second) {}

  /// Lets requests end, as many as may be under way, `rounds` times.
  void run(RequestCap& cap, int rounds, bool waiting = true) {
    for (int round = 0; round < rounds; ++round) {
      const int under_way = cap.value();
      const double took = std::max(delay_, under_way * static_cast<double>(kBody) / bandwidth_);
      for (int i = 0; i < under_way; ++i) {
        now_ += in_clock(took / under_way);
        cap.finished(now_, kBody, in_clock(took), waiting);
      }
    }
  }
  Clock::time_point now() const { return now_; }

 private:
  static Clock::duration in_clock(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }
  double delay_, bandwidth_;
  Clock::time_point now_{1h};
};

}  // namespace

TEST_CASE("request cap: begins with 8, or less") {
  CHECK(RequestCap(64).value() == 8);
  CHECK(RequestCap(3).value() == 3);
}

TEST_CASE("request cap: grows to the most where each request brings more") {
  RequestCap cap(64);
  Link link(100ms, 1e12);
  link.run(cap, 60);
  CHECK(cap.value() == 64);
}

TEST_CASE("request cap: stays near the product of bandwidth and delay") {
  RequestCap cap(64);
  Link link(100ms, 20 * static_cast<double>(kBody) / 0.1);  // 20 requests fill it
  link.run(cap, 400);
  CHECK(cap.value() >= 18);
  CHECK(cap.value() <= 30);
}

TEST_CASE("request cap: a step that only makes requests slower is taken back") {
  RequestCap cap(64);
  Link link(1ms, 100e6);  // full with one
  link.run(cap, 40);
  CHECK(cap.value() <= 12);
}

TEST_CASE("request cap: does not grow by requests that nobody waited for, nor by small ones") {
  RequestCap cap(64);
  Link link(100ms, 1e12);
  link.run(cap, 60, false);
  CHECK(cap.value() == 8);
  for (int i = 0; i < 1000; ++i) cap.finished(link.now() + i * 1ms, 100, 1ms, true);
  CHECK(cap.value() == 8);
}

TEST_CASE("request cap: a refusal halves it, those of the same second count once") {
  RequestCap cap(64);
  const Clock::time_point now{1h};
  cap.refused(now);
  cap.refused(now + 10ms);
  cap.refused(now + 900ms);
  CHECK(cap.value() == 4);
  cap.refused(now + 2s);
  cap.refused(now + 4s);
  cap.refused(now + 6s);
  CHECK(cap.value() == 1);
}

TEST_CASE("request cap: grows again by one after a refusal") {
  RequestCap cap(64);
  Link link(100ms, 1e12);
  cap.refused(link.now());
  REQUIRE(cap.value() == 4);
  int before = cap.value();
  for (int round = 0; round < 400 && cap.value() < 64; ++round) {
    link.run(cap, 1);
    CHECK(cap.value() <= before + 1);
    before = cap.value();
  }
  CHECK(cap.value() > 8);
}

}  // namespace packhorse
