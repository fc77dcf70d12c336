#include "packhorse/reader/bad_samples.h"

#include "packhorse/error.h"
#include "packhorse/reader/augment.h"

namespace packhorse::reader {

namespace {

/// Keeps the choice of a replacement unrelated to what augmentation draws for the sample.
constexpr std::uint64_t kReplacementSalt = 0x7265706c616365;  // "replace"

}  // namespace

void BadSampleOptions::validate() const {
  if (!(max_share >= 0 && max_share <= 1)) {
    throw Error(ErrorKind::kUsage,
                "the share of bad samples that may be replaced must be within 0 and 1");
  }
}

std::uint64_t BadSampleLog::replacement(std::uint64_t epoch, std::uint64_t sample,
                                        int attempt) const {
  if (samples_ <= 1) return sample;
  SampleRandom random(seed_ ^ kReplacementSalt, epoch, sample);
  const auto others = static_cast<std::int64_t>(samples_ - 1);
  std::uint64_t chosen = 0;
  for (int i = 0; i <= attempt; ++i) chosen = static_cast<std::uint64_t>(random.integer(others));
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
  return in_epoch_ <= options_.max_samples &&
         static_cast<double>(in_epoch_) <= options_.max_share * static_cast<double>(samples_);
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
