#include "packhorse/dataset/sample.h"

namespace packhorse {

std::string key_of(std::uint64_t position) {
  std::string digits = std::to_string(position);
  constexpr std::size_t kDigits = 9;
  if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
  return digits;
}

}  // namespace packhorse
