#include "sample_hook.h"

#include <cstring>
#include <optional>
#include <string>

#include "packhorse/base/error.h"

namespace packhorse::python {

namespace {

nb::ndarray<nb::numpy> array_of(const reader::DecodedSample& sample) {
  const std::vector<std::size_t> shape = {static_cast<std::size_t>(sample.size.height),
                                          static_cast<std::size_t>(sample.size.width),
                                          static_cast<std::size_t>(sample.channels)};
  const std::span<const std::uint8_t> pixels = sample.pixels;
  if (!sample.floats) {
    return nb::ndarray<nb::numpy>(
        to_numpy(std::vector<std::uint8_t>(pixels.begin(), pixels.end()), shape));
  }
  std::vector<float> values(pixels.size() / sizeof(float));
  std::memcpy(values.data(), pixels.data(), pixels.size());
  return nb::ndarray<nb::numpy>(to_numpy(std::move(values), shape));
}

/// Counts a call while it lives.
class Counted {
 public:
  explicit Counted(std::atomic<int>& calls) : calls_(calls) { ++calls_; }
  ~Counted() { --calls_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<int>& calls_;
};

/// What the function did to the array, or the words for what failed. With the GIL held.
std::optional<std::string> changed(nb::handle reference, const reader::DecodedSample& sample) try {
  const nb::object function = reference();
  if (function.is_none()) return "the Loader is gone";
  const nb::ndarray<nb::numpy> pixels = array_of(sample);
  const nb::object array = nb::cast(pixels);
  const nb::object result = function(array, sample.label, sample.sample, sample.seed);
  if (nb::isinstance<nb::str>(result)) return nb::cast<std::string>(result);
  const void* made = pixels.data();
  nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu> other;
  if (!result.is_none()) {
    other = nb::cast<decltype(other)>(result);
    if (other.nbytes() != sample.pixels.size()) return "its array has another size";
    made = other.data();
  }
  std::memcpy(sample.pixels.data(), made, sample.pixels.size());
  return std::nullopt;
} catch (const std::exception& error) {  // also Python's, while the GIL is held
  return error.what();
}

}  // namespace

PythonHook::PythonHook(nb::handle function)
    : reference_(nb::module_::import_("weakref").attr("ref")(function)) {
  import_numpy();  // here: the threads of a loader are none of Python's
}

PythonHook::~PythonHook() {
  if (Py_IsInitialized() == 0) {
    static_cast<void>(reference_.release());
    return;
  }
  const nb::gil_scoped_acquire held;
  reference_.reset();
}

void PythonHook::call(const reader::DecodedSample& sample) {
  const Counted counted(calls_);
  std::optional<std::string> failed;
  if (!call_from_cpp([&] { failed = changed(reference_, sample); }))
    throw Error(ErrorKind::kInterrupted, "the interpreter is about to end");
  if (failed) throw Error(ErrorKind::kUsage, "sample_transform: " + *failed);
}

}  // namespace packhorse::python
