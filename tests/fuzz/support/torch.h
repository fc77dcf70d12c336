#pragma once

#include <exception>
#include <new>

#include "fuzz.h"

/// Helpers for the targets of the trainer's weight files, which are linked with LibTorch.
namespace packhorse::fuzz {

/// Like attempt(), but allows other exceptions too: read_weights() makes an Error of them.
template <class Parse>
int attempt_with_torch(const std::uint8_t* data, std::size_t size, const Parse& parse) {
  try {
    return attempt(data, size, parse);
  } catch (const std::bad_alloc&) {
    promise(false, "hostile bytes do not decide how much memory is taken");
  } catch (const std::exception&) {
  }
  return 0;
}

}  // namespace packhorse::fuzz
