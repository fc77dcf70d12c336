#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "simulation/bucket.h"
#include "simulation/faults.h"

namespace packhorse::simulation {

/// Requests on their way to the storage, and answers on their way back. A request goes on though
/// its sender is dead, or has given it up.
class Network {
 public:
  /// What arrives at a worker: a code of libcurl, and the answer as it goes into the mail, if there
  /// is one.
  struct Arrival {
    std::uint32_t process = 0;
    std::uint64_t number = 0;
    std::string mail;
  };
  using Say = std::function<void(const std::string&)>;  ///< a line of the trace

  /// Told that the storage has done what a worker's request asks.
  using Taken = std::function<void(std::uint32_t process)>;

  Network(Bucket& bucket, Faults& faults, const std::uint64_t& now, Say say, Taken on_taken)
      : bucket_(bucket),
        faults_(faults),
        now_(now),
        say_(std::move(say)),
        on_taken_(std::move(on_taken)) {}

  void send(std::uint32_t process, std::uint64_t number, std::string_view mail);
  /// When something arrives next, here or there; kNever.
  std::uint64_t next() const;
  /// Lets arrive what does now; false when nothing has come to a worker by that.
  bool arrive(Arrival& arrival);
  /// Whether a request has come to the storage after its sender had stopped waiting for it: by any
  /// of those, what was removed may be there again.
  bool had_late_requests() const { return late_; }

 private:
  using Event = std::function<bool(Arrival&)>;
  void at(std::uint64_t delay, Event event);
  void answer(std::uint32_t process, std::uint64_t number, std::uint64_t delay, Answer answer);
  void fail(std::uint32_t process, std::uint64_t number, std::uint64_t delay, int code);
  std::uint64_t usual_delay();
  Answer refusal();
  Answer taken(const Request& request);

  Bucket& bucket_;
  Faults& faults_;
  const std::uint64_t& now_;
  const Say say_;
  const Taken on_taken_;
  std::multimap<std::uint64_t, Event> events_;
  bool late_ = false;
};

}  // namespace packhorse::simulation
