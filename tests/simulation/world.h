#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulation/bucket.h"
#include "simulation/faults.h"
#include "simulation/network.h"
#include "simulation/token.h"

namespace packhorse::simulation {

/// A promise is broken.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How a worker's process ended.
struct Ending {
  bool killed = false;
  int code = 0;      ///< 0, or 1 and the error's kind, or kNoError
  std::string text;  ///< the error's, or what the worker says
};

/// The code of a worker that throws something else than Error: it has seen a promise broken, or the
/// code under test has thrown what it should not.
inline constexpr int kNoError = 100;

/// Workers, their machines, the network and the storage, for one seed. It decides which thread of
/// which worker has the token, what time it is, and what goes wrong.
class World {
 public:
  World(std::uint64_t seed, bool trace);
  ~World();  ///< kills what is left
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Begins a worker on a machine. Its body runs in a process of its own, and returns what it says
  /// at its end.
  std::uint32_t start(std::uint32_t machine, const std::string& name,
                      const std::function<std::string()>& body);
  bool is_alive(std::uint32_t process) const { return workers_.contains(process); }
  bool has_workers_on(std::uint32_t machine) const;
  /// Calls `what` after some virtual time, in the world.
  void after(std::uint64_t delay, std::function<void()> what);
  /// Goes on until it is over. Throws Violation.
  void run(const std::function<bool()>& is_over);
  void say(const std::string& line);
  /// No faults are left, and those that last are over.
  bool is_calm() const;

  std::uint64_t now() const { return shared->now; }
  std::uint64_t hash() const { return hash_; }  ///< of all that happened
  std::uint64_t steps() const { return steps_; }

  Chance& chance;
  Faults faults;
  Bucket bucket;
  Network network;
  std::function<void(std::uint32_t process, const Ending&)> ended;
  std::function<void()> check;  ///< after each step

 private:
  struct Worker {
    pid_t pid = 0;
    std::string name;
  };
  void step();
  void let_time_pass();
  void run_thread(ThreadState& thread);
  void answer(ThreadState& thread);
  void end(std::uint32_t process, const Ending& ending);
  void kill(std::uint32_t process);
  void strike(ThreadState& thread);
  void taken(std::uint32_t process);
  void deliver(Network::Arrival arrival);
  std::string name_of(const ThreadState& thread) const;
  [[noreturn]] void deadlock() const;

  const bool trace_;
  std::map<std::uint32_t, Worker> workers_;
  std::uint32_t processes_ = 0;
  std::multimap<std::uint64_t, std::function<void()>> timers_;
  std::map<std::uint32_t, std::vector<Network::Arrival>> arrived_;
  std::optional<std::uint32_t> last_;  ///< the thread that ran last
  std::uint64_t calls_, stay_;         ///< how often threads hand over, and stay
  std::uint64_t steps_ = 0, hash_ = 0;
};

}  // namespace packhorse::simulation
