#include "simulation/world.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "packhorse/base/error.h"

namespace packhorse::simulation {

namespace {

constexpr std::uint64_t kMicrosecond = 1000, kSecond = 1'000'000'000;
constexpr std::uint64_t kMostSteps = 2'000'000;
constexpr int kMostSecondsAway = 60;  // of real time
constexpr std::uint64_t kCalls[] = {1, 4, 16, 64};
constexpr std::uint64_t kStay[] = {1, 3, 10};

/// The calls at which a kill, or to stand still, matters most.
constexpr std::string_view kTakesAway[] = {"unlink", "remove", "rmdir", "rename"};
constexpr std::string_view kLocks[] = {"flock", "lock"};

bool begins_with_one_of(std::string_view call, std::span<const std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return call.starts_with(name); });
}

Chance& seeded(std::uint64_t seed) {
  std::memset(static_cast<void*>(shared), 0, sizeof(Shared) - sizeof shared->mail);
  shared->chance.state = seed * 0x2545f4914f6cdd1du + 1;
  return shared->chance;
}

/// What the process of a worker does.
[[noreturn]] void work(ThreadState& thread, const std::function<std::string()>& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody else would end it
  self = &thread;
  wait_for_token(thread);
  int code = 0;
  std::string text;
  try {
    text = body();
  } catch (const Error& error) {
    code = 1 + static_cast<int>(error.kind());
    text = fmt::format("{}: {}", error.path().string(), error.what());
  } catch (const std::exception& error) {
    code = kNoError;
    text = error.what();
  }
  shared->mail_number = static_cast<std::uint64_t>(code);
  shared->mail_bytes = std::min(text.size(), kMostMail);
  std::memcpy(shared->mail, text.data(), shared->mail_bytes);
  hand_over(Want::kExit);
  ::_exit(0);
}

}  // namespace

World::World(std::uint64_t seed, bool trace)
    : chance(seeded(seed)),
      faults(chance),
      network(
          bucket, faults, shared->now, [this](const std::string& line) { say(line); },
          [this](std::uint32_t process) { taken(process); }),
      trace_(trace),
      calls_(kCalls[chance.below(std::size(kCalls))]),
      stay_(kStay[chance.below(std::size(kStay))]) {
  bucket.ends_other_uploads = chance.once_in(2);
}

World::~World() {
  ended = nullptr;
  while (!workers_.empty()) kill(workers_.begin()->first);
}

bool World::is_calm() const {
  const auto& machines = shared->machines;
  return faults.left == 0 && std::none_of(std::begin(machines), std::end(machines),
                                          [](const auto& machine) { return machine.disk_full; });
}

void World::say(const std::string& line) {
  if (trace_)
    std::printf("%10.6f %s\n", static_cast<double>(now()) / static_cast<double>(kSecond),
                line.c_str());
}

std::string World::name_of(const ThreadState& thread) const {
  const auto found = workers_.find(thread.process);
  return fmt::format("{}.{}", found == workers_.end() ? "?" : found->second.name, thread.number);
}

std::uint32_t World::start(std::uint32_t machine, const std::string& name,
                           const std::function<std::string()>& body) {
  const std::uint32_t process = processes_++;
  if (process == kMostProcesses) throw Violation("there is no end of processes");
  shared->processes[process] = {machine, 0, 0, nullptr};
  ThreadState& thread = *new_thread(process);
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) work(thread, body);
  workers_[process] = {pid, fmt::format("{}#{}", name, process)};
  say(fmt::format("begin {} on machine {}", workers_[process].name, machine));
  return process;
}

bool World::has_workers_on(std::uint32_t machine) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& worker) {
    return shared->processes[worker.first].machine == machine;
  });
}

void World::after(std::uint64_t delay, std::function<void()> what) {
  timers_.emplace(now() + delay, std::move(what));
}

void World::run(const std::function<bool()>& is_over) {
  while (!is_over()) {
    step();
    if (!bucket.replaced().empty()) throw Violation(bucket.replaced() + " is replaced");
    if (check) check();
    if (++steps_ == kMostSteps) throw Violation("it does not come to an end");
  }
}

void World::step() {
  std::vector<ThreadState*> ready;
  std::uint64_t next = std::min(network.next(), timers_.empty() ? kNever : timers_.begin()->first);
  for (ThreadState& thread : shared->known_threads()) {
    if (thread.doing == Doing::kWaiting && thread.until <= now()) {
      thread.doing = Doing::kReady;
      thread.timed_out = true;
    }
    if (thread.doing == Doing::kReady) ready.push_back(&thread);
    if (thread.doing == Doing::kWaiting) next = std::min(next, thread.until);
  }
  if (ready.empty() && next == kNever) deadlock();
  if (ready.empty() || next <= now()) {
    shared->now = std::max(now(), next);
    if (!timers_.empty() && timers_.begin()->first <= now()) {
      const std::function<void()> timer = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      return timer();
    }
    Network::Arrival arrival;
    if (network.next() <= now() && network.arrive(arrival)) deliver(std::move(arrival));
    return;
  }
  ThreadState* chosen = nullptr;
  if (last_ && !chance.once_in(stay_) && shared->threads[*last_].doing == Doing::kReady)
    chosen = &shared->threads[*last_];
  if (chosen == nullptr) chosen = ready[chance.below(ready.size())];
  run_thread(*chosen);
}

void World::deadlock() const {
  std::string all = "nothing goes on any more:";
  for (const ThreadState& thread : shared->known_threads()) {
    if (thread.doing != Doing::kNothing)
      all += fmt::format("\n  {} waits for {}", name_of(thread), thread.at);
  }
  throw Violation(all);
}

void World::run_thread(ThreadState& thread) {
  last_ = static_cast<std::uint32_t>(&thread - shared->threads);
  shared->calls = static_cast<std::uint32_t>(chance.skewed(calls_));
  shared->now += chance.below(200 * kMicrosecond);
  const std::uint32_t process = thread.process;
  bool back = give_token(thread);
  for (int seconds = 0; !back; back = await_token()) {
    int status = 0;
    if (::waitpid(workers_.at(process).pid, &status, WNOHANG) > 0) {
      workers_.at(process).pid = 0;
      throw Violation(fmt::format("{} has crashed (status {})", name_of(thread), status));
    }
    if (++seconds == kMostSecondsAway) throw Violation(name_of(thread) + " does not come back");
  }
  answer(shared->threads[shared->caller]);
}

/// Deals with what a thread wants that has handed the token over.
void World::answer(ThreadState& thread) {
  hash_ = (hash_ ^ (shared->caller + (static_cast<std::uint64_t>(shared->want) << 16) + now())) *
          0x100000001b3u;
  const std::uint32_t process = thread.process;
  switch (shared->want) {
    case Want::kSend: {
      network.send(process, shared->mail_number, {shared->mail, shared->mail_bytes});
      thread.doing = Doing::kReady;
      break;
    }
    case Want::kTake: {
      std::vector<Network::Arrival>& arrived = arrived_[process];
      const Network::Arrival arrival = std::move(arrived.front());
      arrived.erase(arrived.begin());
      --shared->processes[process].answers;
      shared->mail_number = arrival.number;
      shared->mail_bytes = arrival.mail.size();
      std::memcpy(shared->mail, arrival.mail.data(), arrival.mail.size());
      // At once: others write to the mail.
      return run_thread(thread);
    }
    case Want::kExit: {
      const Ending ending{false, static_cast<int>(shared->mail_number),
                          std::string(shared->mail, shared->mail_bytes)};
      return end(process, ending);
    }
    case Want::kEnd:
      break;
    case Want::kWait:
    case Want::kGoOn:
    case Want::kFail:
    case Want::kShort:
      say(fmt::format("{} {}{}", name_of(thread), shared->want == Want::kWait ? "waits for " : "",
                      thread.at));
      strike(thread);
      break;
  }
}

/// What may go wrong when a thread is at a call.
void World::strike(ThreadState& thread) {
  const std::uint64_t rate = faults.once_in_calls;
  const std::uint32_t process = thread.process;
  if (faults.happens(faults.kills, begins_with_one_of(thread.at, kTakesAway) ? rate / 5 : rate))
    return kill(process);
  if (shared->want != Want::kWait &&
      faults.happens(faults.pauses, begins_with_one_of(thread.at, kLocks) ? rate / 5 : rate)) {
    const std::uint64_t most = (10'000 * kMicrosecond) << chance.below(12);
    thread.doing = Doing::kWaiting;
    thread.waits_for = nullptr;
    thread.until = now() + chance.below(most);
    say(fmt::format("  stands still until {:.6f}", static_cast<double>(thread.until) / kSecond));
  }
  if (faults.happens(faults.clock_jumps, rate)) {
    constexpr std::uint64_t kDay = 86'400 * kSecond;
    auto& clock = shared->machines[chance.below(kMostMachines)].clock_off;
    clock = static_cast<std::int64_t>(chance.below(chance.once_in(2) ? 2 * kDay : 10 * kSecond)) -
            static_cast<std::int64_t>(kSecond);
    say(fmt::format("  a clock jumps to {:+.1f} s", static_cast<double>(clock) / kSecond));
  }
  if (faults.happens(faults.full_disks, rate)) {
    auto& disk = shared->machines[chance.below(kMostMachines)];
    disk.disk_full = true;
    say("  a disk is full");
    after(chance.below(chance.once_in(2) ? 50'000 * kMicrosecond : 20 * kSecond), [&disk, this] {
      disk.disk_full = false;
      say("  a disk has room again");
    });
  }
  if (shared->want == Want::kGoOn || shared->want == Want::kWait) return;
  if (!faults.happens(faults.disk_errors, rate)) return;
  shared->half = shared->want == Want::kShort && chance.once_in(3);
  if (!shared->half) shared->error = chance.once_in(2) ? EIO : ENOSPC;
  say(fmt::format("  {}", shared->half ? "does half of it" : std::strerror(shared->error)));
}

/// The moment after a change is the one at which a kill matters most.
void World::taken(std::uint32_t process) {
  if (is_alive(process) && faults.happens(faults.kills, 4 * faults.once_in_requests)) kill(process);
}

void World::kill(std::uint32_t process) {
  say(fmt::format("kill {}", workers_.at(process).name));
  end(process, {true, 0, "killed"});
}

void World::end(std::uint32_t process, const Ending& ending) {
  const Worker worker = workers_.at(process);
  if (worker.pid != 0) {
    ::kill(worker.pid, SIGKILL);
    ::waitpid(worker.pid, nullptr, 0);
  }
  for (ThreadState& thread : shared->known_threads()) {
    if (thread.process == process) thread.doing = Doing::kNothing;
  }
  arrived_.erase(process);
  workers_.erase(process);
  say(fmt::format("{} ends: {} {}", worker.name, ending.code, ending.text));
  if (ended) ended(process, ending);
}

void World::deliver(Network::Arrival arrival) {
  const std::uint32_t process = arrival.process;
  if (!workers_.contains(process)) return;
  Shared::Process& to = shared->processes[process];
  ++to.answers;
  arrived_[process].push_back(std::move(arrival));
  for (ThreadState& thread : shared->known_threads()) {
    if (thread.doing == Doing::kWaiting && thread.process == process &&
        thread.waits_for == to.polls && to.polls != nullptr)
      thread.doing = Doing::kReady;
  }
}

}  // namespace packhorse::simulation
