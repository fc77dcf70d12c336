#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/stop.h"
#include "sources/source.h"

namespace packhorse {

/// Brings inputs into memory before they are read, many at a time and in the order they lie on the
/// storage; a shuffled plan would read them one here, one there. It tries a few inputs to find out
/// which are in memory already, and leaves those alone. Only a hint: it never fails, and nothing
/// waits for it. Thread-safe.
class ReadAhead {
 public:
  /// `source` must outlive this. Threads start with the first want().
  /// Its threads obey the stop of the thread that makes it.
  explicit ReadAhead(const Source& source) : source_(source), stop_(current_stop()) {}
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Says that these entries will be read soon.
  void want(std::shared_ptr<const SplitListing> split, std::vector<std::size_t> entries);
  /// Asks for nothing more, but for what a thread has already begun.
  void stop();

 private:
  struct Window {
    std::shared_ptr<const SplitListing> split;
    std::vector<std::size_t> entries;  ///< sorted by locator
    std::size_t next = 0;
    bool tried = false;     ///< the first chunk is done, and not all of it was in memory
    std::size_t quiet = 0;  ///< chunks since the last one that was not all in memory
  };
  void loop();

  const Source& source_;
  const std::stop_token stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Window>> windows_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace packhorse
