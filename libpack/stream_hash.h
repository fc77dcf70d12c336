#pragma once

#include <condition_variable>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "packhorse/hash.h"

namespace packhorse {

/// SHA-256 of a stream, computed in a thread of its own while the caller goes on. At most
/// kBuffers buffers wait or are in use, so that memory stays bounded. Made and used by one thread.
class StreamHash {
 public:
  StreamHash();
  ~StreamHash();
  StreamHash(const StreamHash&) = delete;
  StreamHash& operator=(const StreamHash&) = delete;

  /// Takes a buffer, and gives one back to fill next. Waits while too many are on their way.
  std::vector<std::byte> update(std::vector<std::byte> buffer);
  /// Waits for the end. The object is spent afterwards.
  std::string finish();

 private:
  static constexpr std::size_t kBuffers = 4;
  void loop();

  Sha256 hash_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::vector<std::byte>> waiting_;
  std::vector<std::vector<std::byte>> free_;
  std::size_t in_use_ = 0;  ///< waiting or being hashed
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace packhorse
