#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace packhorse::reader {

/// Counter-based random numbers: a stream for each (seed, epoch, sample), and each further
/// occurrence of the sample in the epoch. Value type.
class SampleRandom {
 public:
  SampleRandom(std::uint64_t seed, std::uint64_t epoch, std::uint64_t sample,
               std::uint64_t occurrence = 0);
  std::uint64_t next();
  double uniform(double low, double high);  ///< [low, high)
  std::int64_t integer(std::int64_t n);     ///< 0 .. n-1, unbiased; n >= 1
  double normal();                          ///< mean 0, deviation 1; by Box and Muller
  /// Another stream of the same sample, independent of this one: what is drawn for one purpose does
  /// not change what is drawn for another.
  SampleRandom stream(std::uint64_t purpose) const;

 private:
  std::uint64_t key_, counter_ = 0;
};

/// Draws from Beta(alpha, alpha).
double draw_beta(double alpha, SampleRandom& random);
/// Draws `count` shares from the symmetric Dirichlet distribution; their sum is 1.
std::vector<double> draw_dirichlet(double alpha, std::size_t count, SampleRandom& random);

}  // namespace packhorse::reader
