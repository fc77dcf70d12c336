#pragma once

#include <cstddef>
#include <memory>
#include <new>

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else  // zig's clang has no sanitizers of addresses
#define ASAN_POISON_MEMORY_REGION(address, size) static_cast<void>(0)
#define ASAN_UNPOISON_MEMORY_REGION(address, size) static_cast<void>(0)
#endif

namespace packhorse::jpeg {

/// Memory that only grows, and loses its content when it does. Zeros at first. AddressSanitizer
/// reports accesses beyond what was last asked for. One thread.
template <class T>
class Buffer {
 public:
  static constexpr std::align_val_t kAlignment{64};

  /// Room for at least `count` elements; invalidates what was returned before.
  T* reserve(std::size_t count) {
    if (count > count_) {
      memory_.reset();
      count_ = 0;
      memory_.reset(new (kAlignment) T[count]());
      count_ = count;
    }
    limit_to(count);
    return memory_.get();
  }
  /// Declares that only the first `count` elements are used until the next reserve().
  void limit_to([[maybe_unused]] std::size_t count) {
    ASAN_UNPOISON_MEMORY_REGION(memory_.get(), count * sizeof(T));
    ASAN_POISON_MEMORY_REGION(memory_.get() + count, (count_ - count) * sizeof(T));
  }
  T* data() const { return memory_.get(); }
  std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  struct Delete {
    void operator()(T* memory) const { operator delete[](memory, kAlignment); }
  };
  std::unique_ptr<T[], Delete> memory_;
  std::size_t count_ = 0;
};

}  // namespace packhorse::jpeg
