#pragma once

#include "bindings.h"

namespace packhorse::python {

/// Lets other threads of Python run while it lives. Unlike nb::gil_scoped_release, it may end in a
/// daemon thread while the interpreter goes: Python would end such a thread by unwinding its stack,
/// which ends the process where C++ functions that may not throw are on it. Here the thread stays
/// where it is, for ever.
class OthersRun {
 public:
  OthersRun();
  ~OthersRun();
  OthersRun(const OthersRun&) = delete;
  OthersRun& operator=(const OthersRun&) = delete;

  /// Has a module's threads stay when the interpreter goes; `before` is called first, in the thread
  /// that ends it.
  static void stay_at_exit(nb::module_& module, void (*before)() = nullptr);

 private:
  PyThreadState* state_;
};

}  // namespace packhorse::python
