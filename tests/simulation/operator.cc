#include "simulation/operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "simulation/disk.h"

namespace packhorse::simulation {

namespace fs = std::filesystem;

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

/// While nobody works there, a disk may have lost something of what was begun.
void Operator::spoil(std::uint32_t machine) {
  Faults& faults = world_.faults;
  if (world_.has_workers_on(machine) || !faults.happens(faults.rot, 2)) return;
  const fs::path own = fs::path(disk_root) / fmt::format("machine-{}", machine);
  const fs::path data = (fs::exists(own) ? own : fs::path(disk_root)) / "d.partial/data";
  if (!fs::exists(data)) return;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : entries_below(data))
    if (entry.is_regular_file()) files.push_back(entry.path());
  if (files.empty()) return;
  std::sort(files.begin(), files.end());
  for (Command& other : commands_) {  // whoever made it makes it again
    if (other.at == Command::At::kDone && other.machine == machine) begin_later(other);
  }
  const fs::path& file = files[world_.chance.below(files.size())];
  const std::uint64_t bytes = fs::file_size(file), at = world_.chance.below(bytes);
  world_.say("spoil " + file.string());
  switch (world_.chance.below(3)) {
    case 0:
      fs::remove(file);
      break;
    case 1:
      fs::resize_file(file, at);
      break;
    default: {
      std::string content = read_text(file);
      if (bytes > 0) content[at] = static_cast<char>(~content[at]);
      fs::remove(file);
      write_plain_file(file, as_bytes(content));
      break;
    }
  }
}

void Operator::begin(Command& command) {
  spoil(command.machine);
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
  begin_later(command);
}

void Operator::begin_later(Command& command) {
  command.at = Command::At::kWaits;
  const std::uint64_t delay =
      world_.chance.once_in(2) ? 50 * kMillisecond : world_.chance.below(40 * kSecond);
  world_.after(delay, [this, &command] { begin(command); });
}

}  // namespace packhorse::simulation
