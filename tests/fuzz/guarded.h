#pragma once

#include <cstddef>

#include "packhorse/base/bytes.h"

namespace packhorse::fuzz {

/// Memory between two inaccessible pages. Reading past an input at its end, or before one at its
/// beginning, ends the process, even in a library without sanitizers. One thread.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t most_bytes);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  /// Copies `bytes`, at most as many as fit. The view lives until the next call.
  Bytes at_end(Bytes bytes);
  Bytes at_begin(Bytes bytes);

 private:
  std::size_t room_ = 0;
  std::byte *mapped_ = nullptr, *begin_ = nullptr;
};

}  // namespace packhorse::fuzz
