#include <cstdlib>
#include <memory>

#include "bindings.h"
#include "packhorse/reader/loader.h"

namespace packhorse::python {

namespace {

constexpr std::size_t kPage = 4096;

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// Python's functions, which any thread may call or drop.
struct Pinning {
  nb::object pin, unpin;
  Pinning(nb::object pin_in, nb::object unpin_in)
      : pin(std::move(pin_in)), unpin(std::move(unpin_in)) {}
  Pinning(const Pinning&) = delete;
  Pinning& operator=(const Pinning&) = delete;
  ~Pinning() {
    if (Py_IsInitialized() == 0) {
      static_cast<void>(pin.release());
      static_cast<void>(unpin.release());
      return;
    }
    const nb::gil_scoped_acquire held;
    pin.reset();
    unpin.reset();
  }
};

void* allocate(const Pinning& pinning, std::size_t bytes) {
  void* memory = std::aligned_alloc(kPage, whole_pages(bytes));
  if (memory == nullptr) return nullptr;
  const nb::gil_scoped_acquire held;
  try {
    pinning.pin(reinterpret_cast<std::uintptr_t>(memory), whole_pages(bytes));
  } catch (...) {
    std::free(memory);
    throw;
  }
  return memory;
}

/// At the interpreter's end CUDA has gone, too: the memory is left to the process's end.
void deallocate(const Pinning& pinning, void* memory) noexcept {
  if (Py_IsInitialized() == 0) return;
  const nb::gil_scoped_acquire held;
  try {
    pinning.unpin(reinterpret_cast<std::uintptr_t>(memory));
    std::free(memory);
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("packhorse: memory stays pinned");
  }
}

}  // namespace

reader::SlotAllocator pinned_allocator(nb::object pin, nb::object unpin) {
  const auto pinning = std::make_shared<const Pinning>(std::move(pin), std::move(unpin));
  return {[pinning](std::size_t bytes) { return allocate(*pinning, bytes); },
          [pinning](void* memory, std::size_t) { deallocate(*pinning, memory); }};
}

}  // namespace packhorse::python
