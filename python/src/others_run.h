#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <stop_token>

namespace packhorse::python {

/// How daemon threads and the threads of C++ come to rest when the interpreter ends. Python ends a
/// daemon thread that asks for its lock then by unwinding the thread's stack, which ends the
/// process where C++ functions that may not throw are on it. And what still runs in C++ uses
/// objects that the end of the process destroys.

/// Lets other threads of Python run while it lives. Unlike nb::gil_scoped_release, it may end in a
/// daemon thread while the interpreter goes: the thread stays where it is then, for ever.
class OthersRun {
 public:
  OthersRun();
  ~OthersRun();
  OthersRun(const OthersRun&) = delete;
  OthersRun& operator=(const OthersRun&) = delete;

  /// Has a module's threads rest when the interpreter goes; `then` is called after that, in the
  /// thread that ends it.
  static void rest_at_exit(nanobind::module_& module, void (*then)() = nullptr);

 private:
  PyThreadState* state_;
};

/// Calls Python code below C++ functions: the interpreter's end waits for it. Called with the GIL
/// held. Throws what `work` throws.
void run_python(const std::function<void()>& work);

/// Calls Python code from a thread of C++, without the GIL, which it takes: the interpreter's end
/// waits for it, for some seconds. Returns false, and calls nothing, once the interpreter ends.
/// Throws what `work` throws: no exception of Python, which the caller could not destroy.
bool call_from_cpp(const std::function<void()>& work);

/// A thread of C++ works while it lives: the interpreter's end waits for it. Made with the GIL
/// held; ends in any thread.
class WorkRuns {
 public:
  WorkRuns();
  ~WorkRuns();
  WorkRuns(const WorkRuns&) = delete;
  WorkRuns& operator=(const WorkRuns&) = delete;
};

/// Requested when the interpreter ends. Never for what begins after that.
std::stop_token interpreter_ends();

/// Imports numpy, which is Python's code. nanobind would import it with the first array.
void import_numpy();

}  // namespace packhorse::python
