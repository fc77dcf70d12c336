#include "storage/http/request_cap.h"

#include <algorithm>

namespace packhorse {

namespace {

constexpr int kFirstCap = 8;
constexpr int kCalmRounds = 16;
constexpr double kPays = 1.05, kSlower = 1.25;
constexpr std::uint64_t kLeastBytes = 16u << 10;
constexpr std::chrono::seconds kBetweenHalvings{1};

double seconds(RequestCap::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

RequestCap::RequestCap(int most) : most_(std::max(1, most)), cap_(std::min(kFirstCap, most_)) {}

void RequestCap::begin_round(Clock::time_point now) {
  in_round_ = true;
  round_ = now;
  requests_ = 0;
  bytes_ = 0;
  took_ = {};
}

void RequestCap::finished(Clock::time_point now, std::uint64_t bytes, Clock::duration took,
                          bool waiting) {
  if (bytes < kLeastBytes) return;
  if (!waiting || !in_round_) {
    // A round that was not full says nothing about the cap. It begins with the end of a request, so
    // that this one's bytes are not counted in too short a time.
    in_round_ = false;
    if (waiting) begin_round(now);
    return;
  }
  ++requests_;
  bytes_ += bytes;
  took_ += took;
  const double elapsed = seconds(now - round_);
  if (requests_ < 2 * cap_ || elapsed <= 0) return;
  end_round({static_cast<double>(bytes_) / elapsed, seconds(took_) / requests_});
  begin_round(now);
}

void RequestCap::end_round(const Pace& pace) {
  const bool pays = pace.rate >= kPays * last_.rate;
  if (before_ == 0) {
    last_ = pace;
    if (calm_ > 0) {
      --calm_;
    } else {
      step_up();
    }
  } else if (pays) {
    last_ = pace;
    step_up();
  } else {
    if (pace.latency > kSlower * last_.latency) {
      cap_ = before_;
    } else {
      last_ = pace;
    }
    rest();
  }
}

void RequestCap::step_up() {
  if (cap_ == most_) return rest();
  before_ = cap_;
  cap_ = std::min(most_, cap_ + (by_one_ ? 1 : std::max(1, cap_ / 2)));
}

void RequestCap::rest() {
  before_ = 0;
  calm_ = kCalmRounds;
}

void RequestCap::refused(Clock::time_point now) {
  // Requests that were sent together are refused together.
  if (halved_ != Clock::time_point{} && now - halved_ < kBetweenHalvings) return;
  halved_ = now;
  cap_ = std::max(1, cap_ / 2);
  by_one_ = true;
  in_round_ = false;
  rest();
}

}  // namespace packhorse
