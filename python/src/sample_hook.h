#pragma once

#include <atomic>
#include <memory>

#include "bindings.h"
#include "packhorse/reader/loader.h"

namespace packhorse::python {

/// A function of Python that changes samples in the threads of a loader, one at a time.
///
/// It is called as function(pixels, label, sample, seed): pixels are an array of its own, uint8 or
/// float32 [height, width, channels]. It returns None where it has changed them, an array of the
/// same shape and type, or a str that says what failed. The loader has only a weak reference to it,
/// so that cycles through the function can be collected; whoever reads from the loader holds it.
///
/// Calls that the end of the interpreter finds at work are waited for, as other threads of Python
/// are (others_run.h); none begins after that.
class PythonHook {
 public:
  /// With the GIL held.
  explicit PythonHook(nb::handle function);
  ~PythonHook();
  PythonHook(const PythonHook&) = delete;
  PythonHook& operator=(const PythonHook&) = delete;

  /// Any thread, without the GIL. Throws Error(kUsage) for what the function says failed,
  /// Error(kInterrupted) at the interpreter's end.
  void call(const reader::DecodedSample& sample);
  /// Whether a thread is in a call.
  bool busy() const { return calls_ > 0; }

 private:
  nb::object reference_;  ///< weak
  std::atomic<int> calls_ = 0;
};

}  // namespace packhorse::python
