#include "others_run.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

namespace packhorse::python {

namespace {

/// What the end of the interpreter waits for. Never destroyed: threads use it until the process
/// ends.
struct End {
  std::atomic<bool> going = false;
  std::atomic<int> busy = 0;  ///< threads that are to rest first
  std::atomic<std::thread::id> ends_it = {};
  std::stop_source stop;

  static End& here() {
    static auto* const here = new End;
    return *here;
  }
};

/// A daemon thread may wait for a disk, or its callback for what never comes.
constexpr std::chrono::seconds kMost(5);

void settle(void (*then)()) {
  End& end = End::here();
  end.ends_it = std::this_thread::get_id();
  end.going = true;
  end.stop.request_stop();
  const auto last = std::chrono::steady_clock::now() + kMost;
  while (end.busy > 0 && std::chrono::steady_clock::now() < last) {
    PyThreadState* state = PyEval_SaveThread();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    PyEval_RestoreThread(state);
  }
  if (then != nullptr) then();
}

/// Threads that came later are those of functions that are called at the end, which wait for them.
thread_local bool came_before = false;

bool must_stay() {
  const End& end = End::here();
  return end.going && came_before && std::this_thread::get_id() != end.ends_it.load();
}

[[noreturn]] void stay() {
  while (true) ::pause();
}

/// With the GIL held, from Python.
void come() {
  if (must_stay()) {
    PyEval_SaveThread();
    stay();
  }
  if (!End::here().going) came_before = true;
  ++End::here().busy;
}

}  // namespace

OthersRun::OthersRun() {
  come();
  state_ = PyEval_SaveThread();
}

OthersRun::~OthersRun() {
  if (must_stay()) {
    --End::here().busy;
    stay();
  }
  try {
    PyEval_RestoreThread(state_);
  } catch (...) {  // Python ends a thread that came too late to be waited for
    stay();
  }
  --End::here().busy;
}

void OthersRun::rest_at_exit(nanobind::module_& module, void (*then)()) {
  ::pthread_atfork(nullptr, nullptr, [] { End::here().busy = 0; });  // a child has none of them
  module.def("_at_exit", [then] { settle(then); });
  nanobind::module_::import_("atexit").attr("register")(module.attr("_at_exit"));
}

WorkRuns::WorkRuns() { ++End::here().busy; }
WorkRuns::~WorkRuns() { --End::here().busy; }

std::stop_token interpreter_ends() {
  End& end = End::here();
  return end.going ? std::stop_token{} : end.stop.get_token();
}

void run_python(const std::function<void()>& work) {
  come();
  const auto leave = [] { --End::here().busy; };
  try {
    work();
  } catch (const std::exception&) {
    leave();
    throw;
  } catch (...) {  // Python ends a thread that came too late to be waited for
    stay();
  }
  leave();
}

bool call_from_cpp(const std::function<void()>& work) {
  const WorkRuns runs;
  if (End::here().going) return false;
  try {
    const nanobind::gil_scoped_acquire held;
    try {
      work();
    } catch (const std::exception&) {
      throw;
    } catch (...) {  // before the lock is given back, which this thread does not have
      stay();
    }
  } catch (const std::exception&) {
    throw;
  } catch (...) {  // Python ends a thread that came too late to be waited for
    stay();
  }
  return true;
}

void import_numpy() {
  static std::atomic<bool> imported = false;
  if (imported) return;
  run_python([] { nanobind::module_::import_("numpy"); });
  imported = true;
}

}  // namespace packhorse::python
