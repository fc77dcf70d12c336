#include "simulation/operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace packhorse::simulation {

namespace {

constexpr std::uint64_t kMillisecond = 1'000'000, kSecond = 1'000'000'000;
constexpr int kMostTries = 50;

}  // namespace

Operator::Operator(World& world, std::vector<Command> commands)
    : world_(world), commands_(std::move(commands)) {
  world_.ended = [this](std::uint32_t process, const Ending& ending) { ended(process, ending); };
  for (Command& command : commands_) {
    const bool at_once = world_.chance.once_in(3);
    world_.after(at_once ? 0 : world_.chance.below(3 * kSecond), [&] { begin(command); });
  }
}

bool Operator::all_done(const Command* but) const {
  return std::all_of(commands_.begin(), commands_.end(), [&](const Command& one) {
    return &one == but || one.at == Command::At::kDone;
  });
}

void Operator::run() {
  world_.run([this] { return all_done(nullptr); });
}

void Operator::begin(Command& command) {
  command.at = Command::At::kRuns;
  command.undisturbed = world_.is_calm() && all_done(&command);
  ++command.tries;
  command.process = world_.start(command.machine, command.name, command.body);
}

void Operator::ended(std::uint32_t process, const Ending& ending) {
  const auto found = std::find_if(commands_.begin(), commands_.end(), [&](const Command& command) {
    return command.at == Command::At::kRuns && command.process == process;
  });
  if (found == commands_.end()) return;
  Command& command = *found;
  const bool succeeded = !ending.killed && ending.code == 0;
  if (ending.code == kNoError) throw Violation(command.name + ": " + ending.text);
  if (succeeded && command.said) command.said(ending.text);
  if (succeeded || (!ending.killed && command.is_enough && command.is_enough(ending))) {
    command.at = Command::At::kDone;
    return;
  }
  if (command.undisturbed || command.tries == kMostTries) {
    throw Violation(fmt::format("{} fails though nothing disturbs it (try {}): {}", command.name,
                                command.tries, ending.text));
  }
  command.at = Command::At::kWaits;
  const std::uint64_t delay =
      world_.chance.once_in(2) ? 50 * kMillisecond : world_.chance.below(40 * kSecond);
  world_.after(delay, [this, &command] { begin(command); });
}

}  // namespace packhorse::simulation
