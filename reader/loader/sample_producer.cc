#include "loader/sample_producer.h"

#include <string>
#include <utility>

#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

/// The epoch has ended, and the ring knows why.
struct EpochFailed {};

/// The exception being handled, as an error that names the sample.
std::exception_ptr current_error_at(const Dataset& dataset, std::uint64_t sample) {
  try {
    throw;
  } catch (const Error& error) {
    try {
      return std::make_exception_ptr(error_at(dataset, sample, error));
    } catch (...) {  // it has no name, then
      return std::make_exception_ptr(error);
    }
  } catch (...) {
    return std::current_exception();
  }
}

std::string words_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  }
}

/// Whether the error is about the sample, not about the storage or the whole run.
bool is_about_sample(const Error& error) {
  return error.kind() == ErrorKind::kCorrupt || error.kind() == ErrorKind::kUnsupported;
}

/// `last`, with the reason why its sample was not replaced like those before.
std::exception_ptr too_many(const std::exception_ptr& last) {
  return std::make_exception_ptr(
      Error(ErrorKind::kCorrupt, "too many bad samples; the last: " + words_of(last), {},
            "run `inspect(verify=full, decode=true)` on the dataset, or allow more"));
}

}  // namespace

SampleProducer::SampleProducer(const SampleMaker::Shared& shared, Ring& ring, BadSampleLog& bad)
    : dataset_(shared.dataset),
      ring_(ring),
      bad_(bad),
      maker_(shared, [this](std::uint64_t failed, int attempt, const Error& error) {
        return replace_beside(failed, attempt, error);
      }) {}

bool SampleProducer::wait_open(std::uint64_t step, const std::stop_token& stop) {
  if (ring_.is_open(step)) return true;
  const auto begin = SampleMaker::Clock::now();
  const bool open = ring_.wait_open(step, stop);
  add(wait_ns_, ns_since(begin));
  return open;
}

bool SampleProducer::make(Ring::Slot& slot, std::size_t place, const Order& order,
                          std::uint64_t epoch, Draw draw) {
  order_ = &order;
  epoch_ = epoch;
  if (fill(slot, place, draw)) return true;
  switch (bad_.policy()) {
    case BadSamplePolicy::kReplace:
      return replace(slot, place, draw);
    case BadSamplePolicy::kLeaveOut:
      return leave_out(slot, place, draw.sample);
    case BadSamplePolicy::kFail:
      break;
  }
  return false;
}

void SampleProducer::add_to(LoaderCounters& total) const {
  total.samples += samples_;
  total.slot_wait_ns += wait_ns_;
  maker_.add_to(total);
}

/// Returns false when the sample failed; where nothing can be done without it, the epoch has ended.
bool SampleProducer::fill(Ring::Slot& slot, std::size_t place, Draw draw) try {
  maker_.make(slot, place, draw, epoch_);
  add(samples_, 1);
  return true;
} catch (const Error& error) {
  if (error.kind() == ErrorKind::kInterrupted) {  // not of this sample
    ring_.fail(std::current_exception());
    return false;
  }
  error_ = current_error_at(dataset_, draw.sample);
  if (bad_.policy() == BadSamplePolicy::kFail || !is_dispensable(draw.sample, error))
    ring_.fail(error_);
  return false;
} catch (const EpochFailed&) {
  return false;
} catch (...) {
  ring_.fail(std::current_exception());
  return false;
}

/// Whether the sample itself is bad. It may look damaged because its file was truncated: that is
/// the error then.
bool SampleProducer::is_dispensable(std::uint64_t sample, const Error& error) try {
  if (!is_about_sample(error)) return false;
  dataset_.check_whole(sample);
  return true;
} catch (const Error&) {
  error_ = current_error_at(dataset_, sample);
  return false;
}

/// Puts another sample in the place of one that failed.
bool SampleProducer::replace(Ring::Slot& slot, std::size_t place, Draw draw) {
  std::uint64_t failed = draw.sample;
  for (int attempt = 0; !ring_.over(); ++attempt) {
    const std::uint64_t by = replacement(draw.sample, attempt);
    if (note_bad(failed, by) && fill(slot, place, {by, draw.occurrence})) return true;
    failed = by;
  }
  return false;
}

bool SampleProducer::leave_out(Ring::Slot& slot, std::size_t place, std::uint64_t sample) {
  if (ring_.over() || !note_bad(sample, kLeftOut)) return false;
  maker_.leave_out(slot, place);
  return true;
}

/// The sample in the place of `failed`, which was to be seen beside the sample itself. Throws
/// EpochFailed where that is impossible.
std::uint64_t SampleProducer::replace_beside(std::uint64_t failed, int attempt,
                                             const Error& error) {
  error_ = current_error_at(dataset_, failed);
  if (bad_.policy() != BadSamplePolicy::kReplace || !is_dispensable(failed, error)) {
    ring_.fail(error_);
    throw EpochFailed();
  }
  const std::uint64_t by = replacement(failed, attempt);
  if (!note_bad(failed, by) || ring_.over()) throw EpochFailed();
  return by;
}

/// Another sample than `sample` or, with weights, one that comes in this epoch.
std::uint64_t SampleProducer::replacement(std::uint64_t sample, int attempt) const {
  const std::uint64_t by = bad_.replacement(epoch_, sample, attempt);
  const Draws& draws = order_->draws();
  return draws.sampler().has_weights() ? draws.at(by % draws.sampler().size()).sample : by;
}

/// Returns false when these are too many, which ends the epoch.
bool SampleProducer::note_bad(std::uint64_t failed, std::uint64_t by) {
  if (bad_.add({epoch_, failed, by, words_of(error_)})) return true;
  ring_.fail(too_many(error_));
  return false;
}

}  // namespace packhorse::reader
