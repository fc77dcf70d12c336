#pragma once

#include <cstddef>

#include "packhorse/base/bytes.h"

namespace packhorse::fuzz {

/// Memory between two pages that nobody may touch: who reads past an input that lies at its end, or
/// in front of one at its beginning, ends the process, also in a library that no sanitizer sees
/// into. One thread.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t most_bytes);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  /// Copies of `bytes`, at most as many as there is room for; there until the next call.
  Bytes at_end(Bytes bytes);
  Bytes at_begin(Bytes bytes);

 private:
  std::size_t room_ = 0;
  std::byte *mapped_ = nullptr, *begin_ = nullptr;
};

}  // namespace packhorse::fuzz
