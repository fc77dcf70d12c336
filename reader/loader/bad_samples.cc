#include "packhorse/reader/bad_samples.h"

#include <algorithm>

#include "packhorse/reader/augment.h"

namespace packhorse::reader {

namespace {

/// Keeps the choice of a replacement independent of what augmentation draws for the sample.
constexpr std::uint64_t kReplacementSalt = 0x7265706c616365;  // "replace"

}  // namespace

BadSampleOptions BadSampleOptions::parse(const std::string& text, BadSamplePolicy otherwise) {
  const RejectLimit limit = RejectLimit::parse(text);
  const bool none = limit.percent ? *limit.percent <= 0 : limit.count == 0;
  return {none ? BadSamplePolicy::kFail : otherwise, limit};
}

std::uint64_t BadSampleLog::replacement(std::uint64_t epoch, std::uint64_t sample,
                                        int attempt) const {
  if (samples_ <= 1) return sample;
  SampleRandom random((seed_ ^ kReplacementSalt) + static_cast<std::uint64_t>(attempt), epoch,
                      sample);
  const auto others = static_cast<std::int64_t>(samples_ - 1);
  const auto chosen = static_cast<std::uint64_t>(random.integer(others));
  return chosen < sample ? chosen : chosen + 1;  // any but itself
}

bool BadSampleLog::add(BadSample bad) {
  const std::scoped_lock lock(mutex_);
  if (bad.epoch != epoch_) {
    epoch_ = bad.epoch;
    in_epoch_ = 0;
  }
  ++count_;
  ++in_epoch_;
  if (named_.size() < kMostNamed) named_.push_back(std::move(bad));
  // Gives up after as many bad samples as the dataset has, whatever the limit: perhaps none is
  // good.
  return in_epoch_ <= std::min(options_.limit.allowed(samples_), samples_);
}

std::uint64_t BadSampleLog::count() const {
  const std::scoped_lock lock(mutex_);
  return count_;
}

std::vector<BadSample> BadSampleLog::named() const {
  const std::scoped_lock lock(mutex_);
  return named_;
}

}  // namespace packhorse::reader
