#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <stop_token>
#include <utility>

#include "base/stop.h"
#include "bindings.h"
#include "others_run.h"
#include "packhorse/base/progress.h"

namespace packhorse::python {

/// Calls `work(Progress&)` in a thread of its own, without the GIL, and meanwhile
/// looks for Ctrl-C and calls `report(done, total)`, unless that is None, in the calling thread. An
/// exception of either stops the work, waits for its end, and goes on to the caller.
template <class Work>
auto watched_call(const nb::object& report, const Work& work) {
  constexpr std::chrono::milliseconds kBetweenLooks(50);
  Progress progress;
  std::stop_source stop;
  const std::stop_callback at_exit(interpreter_ends(), [&] { stop.request_stop(); });
  std::uint64_t told = ~std::uint64_t{0};
  const auto tell = [&] {
    const std::uint64_t done = progress.samples, total = progress.total_samples;
    if (report.is_none() || total == 0 || done == told) return;
    told = done;
    run_python([&] { report(done, total); });
  };
  auto result = std::async(std::launch::async, [&, runs = std::make_unique<WorkRuns>()]() mutable {
    const auto ends_here = std::move(runs);
    const StopScope scope(stop.get_token());
    return work(progress);
  });
  const auto ended = [&](std::chrono::milliseconds within) {
    const OthersRun others_run;
    return result.wait_for(within) == std::future_status::ready;
  };
  try {
    while (!ended(kBetweenLooks)) {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      tell();
    }
  } catch (...) {
    stop.request_stop();
    const OthersRun others_run;
    result.wait();
    throw;
  }
  auto made = result.get();
  tell();
  return made;
}

/// `work()` of what may have to wait for a storage, watched where it does. The rest is over before
/// anybody could press Ctrl-C, and runs in this thread.
template <class Work>
auto call_that_may_wait(bool waits, const Work& work) {
  if (waits) {
    return watched_call(nb::none(), [&](Progress&) { return work(); });
  }
  const OthersRun others_run;
  return work();
}

}  // namespace packhorse::python
