#include "storage/dataset/cached_runs.h"

#include <chrono>

#include "base/stop.h"

namespace packhorse {

namespace {

using Clock = std::chrono::steady_clock;
using Claim = CachedFile::Claim;

constexpr std::chrono::milliseconds kLook{
    1000};  // then the claim is tried again: its owner may be dead

/// Calls `visit` for each run of a range until it returns false.
template <class Visit>
bool for_each_run(ByteRange range, const Visit& visit) {
  for (std::size_t run = range.offset / kRunBytes; run * kRunBytes < range.end(); ++run)
    if (!visit(run)) return false;
  return true;
}

}  // namespace

bool CachedRuns::ensure(ByteRange range) {
  return for_each_run(range, [&](std::size_t run) { return file_->has(run) || ensure_run(run); });
}

bool CachedRuns::ensure_run(std::size_t run) {
  const Clock::time_point begin = Clock::now();
  bool room = true;
  while (room && !file_->has(run)) {
    obey_stop();
    const Claim claim = file_->claim(run);
    if (claim == Claim::kMine) room = fetch(run);
    if (claim == Claim::kOthers) file_->wait_for(run, kLook);
    if (claim == Claim::kNoSpace) room = false;
  }
  RemoteEvents& events = *object_->parts().events;
  ++events.waits;
  events.wait_ns += static_cast<std::uint64_t>((Clock::now() - begin).count());
  return room;
}

bool CachedRuns::fetch(std::size_t run) {
  Buffer buffer;
  try {
    buffer = object_->fetch(file_->range_of(run));
  } catch (...) {
    file_->give_up(run);
    throw;
  }
  ++object_->parts().events->runs_fetched;
  return file_->write(run, *buffer);
}

bool CachedRuns::prefetch(ByteRange range) {
  return for_each_run(range, [&](std::size_t run) { return file_->has(run) || fetch_ahead(run); });
}

bool CachedRuns::fetch_ahead(std::size_t run) {
  const Claim claim = file_->claim(run);
  if (claim != Claim::kMine) return claim != Claim::kNoSpace;
  const auto land = [file = file_, events = object_->parts().events, run](const Buffer& buffer) {
    if (!buffer) return file->give_up(run);
    ++events->runs_fetched;
    try {
      static_cast<void>(file->write(run, *buffer));
    } catch (const std::exception&) {
      // The disk's error comes again when the run is needed.
    }
  };
  try {
    if (!object_->start(file_->range_of(run), land)) file_->give_up(run);
  } catch (...) {
    file_->give_up(run);
    throw;
  }
  return true;
}

void CachedRuns::forget(ByteRange range) {
  for_each_run(range, [&](std::size_t run) {
    file_->forget(run);
    ++object_->parts().events->damaged;
    return true;
  });
}

double CachedRuns::share() const {
  std::size_t there = 0;
  for (std::size_t run = 0; run < file_->runs(); ++run) there += file_->has(run) ? 1u : 0u;
  return file_->runs() == 0 ? 1 : static_cast<double>(there) / static_cast<double>(file_->runs());
}

}  // namespace packhorse
