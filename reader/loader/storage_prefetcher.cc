#include "loader/storage_prefetcher.h"

#include <algorithm>
#include <span>

#include "base/stop.h"
#include "packhorse/dataset/packed_dataset.h"

namespace packhorse::reader {

namespace {

constexpr std::uint64_t kStride = 8;  // tickets between two looks at the progress

/// The mean stored size of a sample, estimated from some of them.
std::uint64_t mean_bytes(const Dataset& dataset) {
  if (!dataset.extents().empty())
    return std::max<std::uint64_t>(
        1, dataset.stored_bytes() / std::max<std::size_t>(1, dataset.size()));
  constexpr std::size_t kLooks = 256;
  const std::size_t looks = std::min(kLooks, dataset.size());
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < looks; ++i) bytes += dataset.bytes(i * dataset.size() / looks);
  return looks == 0 ? 1 : std::max<std::uint64_t>(1, bytes / looks);
}

}  // namespace

Prefetcher::Prefetcher(const Dataset& dataset, const Order& order, std::uint64_t ahead_bytes,
                       const std::stop_token& stop)
    : dataset_(dataset),
      order_(order),
      sample_bytes_(mean_bytes(dataset)),
      ahead_(std::max<std::uint64_t>(1, ahead_bytes / sample_bytes_)),
      thread_([this](const std::stop_token& over) { run(over); }),
      on_stop_(stop, [this] { thread_.request_stop(); }) {}

void Prefetcher::reached(std::uint64_t ticket) {
  if (ticket % kStride != 0) return;
  std::uint64_t before = reached_.load(std::memory_order_relaxed);
  while (before < ticket &&
         !reached_.compare_exchange_weak(before, ticket, std::memory_order_relaxed)) {
  }
  const std::scoped_lock lock(mutex_);  // the thread is either not yet looking, or waiting
  moved_.notify_one();
}

void Prefetcher::run(const std::stop_token& stop) {
  const StopScope scope(stop);  // what was asked for and has not come by its end is not needed
  std::uint64_t ahead = order_.size();  // nothing is being processed before the first window
  for (std::uint64_t begin = 0; begin < order_.size();) {
    const std::optional<std::uint64_t> window = order_.window_end(begin);
    // Samples are requested in stored order, few at a time, so that the first is not the last to
    // arrive.
    const std::uint64_t some = std::max<std::uint64_t>(1, ahead_ / 4);
    const std::uint64_t end = window.value_or(std::min(begin + some, order_.size()));
    if (!window) ahead = ahead_;
    if (!ask(begin, end, ahead, stop)) return;
    ahead = std::max(ahead_, end - begin);
    begin = end;
  }
}

bool Prefetcher::ask(std::uint64_t begin, std::uint64_t end, std::uint64_t ahead,
                     const std::stop_token& stop) {
  samples_.clear();
  for (std::uint64_t ticket = begin; ticket < end; ++ticket)
    samples_.push_back(order_.sample(ticket));
  std::ranges::sort(samples_);
  const std::size_t most = std::max<std::size_t>(1, samples_.size() / 4);
  for (std::size_t at = 0; at < samples_.size();) {
    const std::uint64_t due = begin + at;
    if (due > ahead && !wait_for(due - ahead, stop)) return false;
    if (stop.stop_requested()) return false;
    at = ask_piece(at, most);
  }
  return true;
}

std::size_t Prefetcher::piece_end(std::size_t at, std::size_t most) const {
  const std::size_t last = std::min(samples_.size(), at + most);
  std::uint64_t bytes = dataset_.bytes(samples_[at]);
  std::size_t end = at + 1;
  // Pieces are joined as in Runs, so that no run takes two requests.
  for (; end < last && bytes < kJoinedBytes; ++end) {
    if (dataset_.file_of(samples_[end]) != dataset_.file_of(samples_[end - 1])) break;
    bytes += dataset_.bytes(samples_[end]);
  }
  return end;
}

std::size_t Prefetcher::ask_piece(std::size_t at, std::size_t most) try {
  const std::size_t behind = piece_end(at, most);
  bytes_ += dataset_.prefetch(std::span(samples_).subspan(at, behind - at));
  return behind;
} catch (const std::exception&) {
  return at + 1;  // whoever needs the sample hears why it cannot be read
}

bool Prefetcher::wait_for(std::uint64_t ticket, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  // Progress is reported only every kStride tickets.
  return moved_.wait(lock, stop, [&] { return reached_ + kStride > ticket; });
}

}  // namespace packhorse::reader
