#include "packhorse/dataset/sample.h"

#include <algorithm>

namespace packhorse {

int key_digits(std::uint64_t samples) {
  constexpr int kFewest = 9;
  const std::uint64_t last = samples == 0 ? 0 : samples - 1;
  return std::max(kFewest, static_cast<int>(std::to_string(last).size()));
}

std::string key_of(std::uint64_t position, int digits) {
  std::string key = std::to_string(position);
  const auto wanted = static_cast<std::size_t>(digits);
  if (key.size() < wanted) key.insert(0, wanted - key.size(), '0');
  return key;
}

}  // namespace packhorse
