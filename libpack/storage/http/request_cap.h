#pragma once

#include <chrono>
#include <cstdint>

namespace packhorse {

/// How many requests may be under way at once, found by trying. What a link can hold is its
/// bandwidth times its delay, and what a server bears is its own affair: neither is known, but more
/// requests than that only wait longer.
///
/// Time is cut into rounds of about two requests for each that may be under way, all of them sent
/// while others waited. From round to round:
///
///   throughput grew by 5 % after a step up      another step up, by half
///   it did not, and latency grew by 25 %        the step is taken back
///   it did not, and latency stayed              it stays; the next step is tried 16 rounds later
///   429 or 503                                  half, once a second at most; from then on steps of
///   1
///
/// One thread, or under a lock.
class RequestCap {
 public:
  using Clock = std::chrono::steady_clock;

  /// Begins with 8, or with `most` if that is less.
  explicit RequestCap(int most);
  int value() const { return cap_; }

  /// A request that went well: `bytes` of its body and the answer's, how long it `took`, and
  /// whether the cap kept others `waiting`. Small bodies, which tell nothing of throughput, do not
  /// count.
  void finished(Clock::time_point now, std::uint64_t bytes, Clock::duration took, bool waiting);
  /// The server answered that these are too many.
  void refused(Clock::time_point now);

 private:
  struct Pace {
    double rate = 0, latency = 0;  ///< bytes a second, seconds
  };
  void begin_round(Clock::time_point now);
  void end_round(const Pace& pace);
  void step_up();
  void rest();

  int most_, cap_;
  int before_ = 0;  ///< the cap before the step that is on trial; 0: none is
  int calm_ = 0;    ///< rounds until the next step
  bool by_one_ = false;
  Pace last_;
  Clock::time_point round_{}, halved_{};
  bool in_round_ = false;
  int requests_ = 0;
  std::uint64_t bytes_ = 0;
  Clock::duration took_{};
};

}  // namespace packhorse
