#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulation/world.h"

namespace packhorse::simulation {

/// A command that somebody runs until it has done its work.
struct Command {
  std::string name;
  std::uint32_t machine = 0;
  std::function<std::string()> body;
  /// Whether an error says that there is nothing left to do.
  std::function<bool(const Ending&)> is_enough = {};
  std::function<void(const std::string&)> said = {};  ///< looks at what it says at its end

  enum class At { kWaits, kRuns, kDone } at = At::kWaits;
  std::uint32_t process = 0;
  int tries = 0;
  bool undisturbed = false;  ///< began when faults and all other commands were over
};

/// Whoever runs the commands of a world: begins them at some time, and again when they were killed
/// or have failed. When there are no more faults, and all others are done, a command that is run
/// again must do its work.
class Operator {
 public:
  Operator(World& world, std::vector<Command> commands);
  void run();

 private:
  void spoil(std::uint32_t machine);
  void begin(Command& command);
  void begin_later(Command& command);
  void ended(std::uint32_t process, const Ending& ending);
  bool all_done(const Command* but) const;

  World& world_;
  std::vector<Command> commands_;
};

}  // namespace packhorse::simulation
