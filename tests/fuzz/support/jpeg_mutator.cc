// Replaces every other one of libFuzzer's own mutations by one of the differential test's, which
// know the structure of a JPEG.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "mutate.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed) {
  if (size == 0 || seed % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::mt19937_64 random(seed);
  const auto* const begin = reinterpret_cast<const std::byte*>(data);
  packhorse::fuzz::File file(begin, begin + size);
  const packhorse::fuzz::File others[] = {file};
  packhorse::fuzz::mutate(file, others, max_size, random);
  if (file.empty()) return LLVMFuzzerMutate(data, size, max_size);
  const std::size_t length = std::min(file.size(), max_size);
  std::memcpy(data, file.data(), length);
  return length;
}
