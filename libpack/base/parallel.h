#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/stop.h"

namespace packhorse {

/// Calls work(i) for every i < n from up to `jobs` threads, lowest i first. The first exception
/// stops the rest from starting and is thrown here. All of them obey the stop of the calling
/// thread, also between two calls.
template <class Work>
void run_parallel(int jobs, std::size_t n, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const std::stop_token stop = current_stop();
  const auto loop = [&] {
    const StopScope scope(stop);
    for (std::size_t i = next++; i < n; i = next++) {
      try {
        obey_stop();
        work(i);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!failure) failure = std::current_exception();
        next = n;
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    try {
      for (std::size_t t = 1; t < static_cast<std::size_t>(jobs) && t < n; ++t)
        threads.emplace_back(loop);
    } catch (...) {  // no more threads, or no memory for them
      next = n;
      throw;
    }
    loop();
  }
  if (failure) std::rethrow_exception(failure);
}

/// The same in batches: calls work(begin, end) for ranges of `size` indexes that together are [0,
/// n).
template <class Work>
void run_batches(int jobs, std::size_t n, std::size_t size, const Work& work) {
  run_parallel(jobs, (n + size - 1) / size,
               [&](std::size_t batch) { work(batch * size, std::min(n, (batch + 1) * size)); });
}

}  // namespace packhorse
