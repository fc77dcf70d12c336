#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "others_run.h"

namespace packhorse {
struct CommandCall;
}

namespace packhorse::reader {
struct BatchTargets;
struct SlotAllocator;
}  // namespace packhorse::reader

/// The parts of packhorse._reader. What is decided is decided in the library; what is convenient is
/// Python's, in packhorse/*.py.
namespace packhorse::python {

namespace nb = nanobind;

void bind_augment(nb::module_& module);
void bind_detection(nb::module_& module);
void bind_dataset(nb::module_& module);
void bind_loader(nb::module_& module);
/// Ends the threads of all loaders of this process, which cannot be used any more.
void stop_loaders();
void bind_targets(nb::module_& module);
/// The columns of objects as arrays over their memory, which the arrays own. Key points are `each`
/// for an object, where no object says how many.
nb::dict target_arrays(reader::BatchTargets targets, std::size_t each);
/// Slots of whole pages that pin(address, bytes) has pinned and unpin(address) lets go. What pin()
/// raises is thrown.
reader::SlotAllocator pinned_allocator(nb::object pin, nb::object unpin);
/// "limit=3", "packhorse.pack('photos', OUT)": how Python's users give options and commands
/// (packhorse/base/option.h). Any thread: they call no Python.
std::string keyword_text(std::string_view name, std::string_view value);
std::string call_text(const CommandCall& call);
/// Throws packhorse::Error as the class of packhorse.errors that its kind names.
void translate_errors();

/// A numpy array that owns `values`.
template <typename T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T> values, std::vector<std::size_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  import_numpy();
  return {kept->data(), shape.size(), shape.data(), owner};
}

}  // namespace packhorse::python
