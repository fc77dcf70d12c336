#pragma once

#include <cstdint>

namespace packhorse {

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): a bijection of 64-bit numbers that mixes well.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// A pseudo-random permutation of 0 .. size-1 that takes no memory: `(*this)(i)` costs about ten
/// nanoseconds for any i, in any thread. A balanced Feistel network of 6 rounds over the next even
/// number of bits, with cycle walking down to `size` (Black, Rogaway 2002). The same (size, key)
/// gives the same permutation on every machine; packed datasets and training orders depend on that.
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t key);
  std::uint64_t size() const { return size_; }
  /// The element at place i; i < size().
  std::uint64_t operator()(std::uint64_t i) const;
  /// The place of an element: inverse((*this)(i)) == i.
  std::uint64_t inverse(std::uint64_t element) const;

 private:
  static constexpr int kRounds = 6;
  std::uint64_t encrypt(std::uint64_t x) const;
  std::uint64_t decrypt(std::uint64_t x) const;
  std::uint64_t size_;
  std::uint64_t keys_[kRounds];
  int half_bits_;
};

}  // namespace packhorse
