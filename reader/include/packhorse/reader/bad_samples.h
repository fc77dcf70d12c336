#pragma once

#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "packhorse/base/reject_limit.h"

namespace packhorse::reader {

/// What to do with a sample whose bytes are damaged or cannot be decoded, for whatever reason.
enum class BadSamplePolicy {
  kFail,     ///< the epoch ends with its error
  kReplace,  ///< another sample of the dataset takes its place in the batch
  kLeaveOut  ///< its place in the batch is zeros, and its number there is kLeftOut
};

/// Where a batch says which sample is at a place: none.
inline constexpr std::uint64_t kLeftOut = std::numeric_limits<std::uint64_t>::max();

struct BadSampleOptions {
  BadSamplePolicy policy = BadSamplePolicy::kFail;
  /// Unless kFail: an epoch with more bad samples fails. A percentage is of the dataset's samples.
  RejectLimit limit = {100, {}};
  /// "0": fail. "12" or "0.5%": do that with up to so many. Throws Error(kUsage).
  static BadSampleOptions parse(const std::string& text,
                                BadSamplePolicy otherwise = BadSamplePolicy::kReplace);
};

/// A sample that was replaced, or left out.
struct BadSample {
  std::uint64_t epoch = 0;
  std::uint64_t sample = 0;  ///< of the dataset
  std::uint64_t by = 0;      ///< the sample in its place; kLeftOut: none
  std::string what;          ///< the error, with key and file
};

/// Chooses replacements for bad samples and counts them. The replacement is a function of (seed,
/// epoch, sample, attempt), not of threads. Thread-safe.
class BadSampleLog {
 public:
  static constexpr std::size_t kMostNamed = 1000;  ///< later ones are counted only

  BadSampleLog(const BadSampleOptions& options, std::uint64_t samples, std::uint64_t seed)
      : options_(options), samples_(samples), seed_(seed) {}

  BadSamplePolicy policy() const { return options_.policy; }
  std::uint64_t replacement(std::uint64_t epoch, std::uint64_t sample, int attempt) const;
  /// Adds one. Returns false when that was one too many in its epoch.
  bool add(BadSample bad);

  std::uint64_t count() const;  ///< in all epochs
  std::vector<BadSample> named() const;

 private:
  const BadSampleOptions options_;
  const std::uint64_t samples_, seed_;
  mutable std::mutex mutex_;
  std::vector<BadSample> named_;
  std::uint64_t count_ = 0;
  std::uint64_t epoch_ = 0, in_epoch_ = 0;
};

}  // namespace packhorse::reader
