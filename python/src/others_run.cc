#include "others_run.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace packhorse::python {

namespace {

std::atomic<bool> going = false;            // the interpreter is
std::atomic<int> coming_back = 0;           // threads that wait for the interpreter's lock
std::atomic<std::thread::id> ends_it = {};  // the thread that goes on then

/// Threads that have not seen `going` come back before the interpreter goes on; all others stay.
void settle(void (*before)()) {
  ends_it = std::this_thread::get_id();
  going = true;
  while (coming_back > 0) {
    PyThreadState* state = PyEval_SaveThread();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    PyEval_RestoreThread(state);
  }
  if (before != nullptr) before();
}

/// Threads that came later are those of functions that are called at the end, which wait for them.
thread_local bool came_before = false;

bool must_stay() { return going && came_before && std::this_thread::get_id() != ends_it.load(); }

[[noreturn]] void stay() {
  while (true) ::pause();
}

}  // namespace

OthersRun::OthersRun() : state_(PyEval_SaveThread()) {
  if (must_stay()) stay();
  if (!going) came_before = true;
}

OthersRun::~OthersRun() {
  ++coming_back;
  if (must_stay()) {
    --coming_back;
    stay();
  }
  PyEval_RestoreThread(state_);
  --coming_back;
}

void OthersRun::stay_at_exit(nb::module_& module, void (*before)()) {
  ::pthread_atfork(nullptr, nullptr, [] { coming_back = 0; });  // a child has none of the others
  module.def("_at_exit", [before] { settle(before); });
  nb::module_::import_("atexit").attr("register")(module.attr("_at_exit"));
}

}  // namespace packhorse::python
