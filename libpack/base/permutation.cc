#include "base/permutation.h"

namespace packhorse {

Permutation::Permutation(std::uint64_t size, std::uint64_t key) : size_(size), half_bits_(1) {
  while (half_bits_ < 32 && (std::uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
  for (int round = 0; round < kRounds; ++round) {
    key = mix64(key + static_cast<std::uint64_t>(round));
    keys_[round] = key;
  }
}

std::uint64_t Permutation::encrypt(std::uint64_t x) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = x >> half_bits_;
  std::uint64_t right = x & mask;
  for (const std::uint64_t key : keys_) {
    const std::uint64_t next = left ^ (mix64(right ^ key) & mask);
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

std::uint64_t Permutation::decrypt(std::uint64_t x) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = x >> half_bits_;
  std::uint64_t right = x & mask;
  for (int round = kRounds; round-- > 0;) {
    const std::uint64_t before = right ^ (mix64(left ^ keys_[round]) & mask);
    right = left;
    left = before;
  }
  return (left << half_bits_) | right;
}

std::uint64_t Permutation::operator()(std::uint64_t i) const {
  // The domain is less than four times the size, so this takes fewer than four rounds on average.
  do {
    i = encrypt(i);
  } while (i >= size_);
  return i;
}

std::uint64_t Permutation::inverse(std::uint64_t element) const {
  do {
    element = decrypt(element);
  } while (element >= size_);
  return element;
}

}  // namespace packhorse
