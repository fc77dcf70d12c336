#pragma once

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "packhorse/base/bytes.h"

namespace packhorse {

/// A buffer aligned for direct writes to the disk (O_DIRECT). Shared by everyone who works on it.
class AlignedBuffer {
 public:
  static constexpr std::size_t kBytes = 2u << 20;
  static constexpr std::size_t kAlignment = 4096;

  AlignedBuffer() : memory_(static_cast<std::byte*>(std::aligned_alloc(kAlignment, kBytes))) {
    if (!memory_) throw std::bad_alloc();
  }
  std::byte* data() { return memory_.get(); }
  const std::byte* data() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
};

/// Hands out buffers, and takes each back when its last user lets go. Thread-safe.
class BufferPool {
 public:
  std::shared_ptr<AlignedBuffer> take();

 private:
  struct Free {
    std::mutex mutex;
    std::vector<std::unique_ptr<AlignedBuffer>> buffers;
    std::size_t made = 0;
  };
  std::shared_ptr<Free> free_ = std::make_shared<Free>();  ///< lives until all buffers are back
};

/// Works through pieces of a stream, in order, in a thread of its own. At most kWaiting pieces
/// wait, so that memory stays bounded. Made and used by one thread.
class ByteThread {
 public:
  struct Piece {
    std::shared_ptr<const AlignedBuffer> buffer;
    std::size_t size = 0;
    std::uint64_t offset = 0;  ///< in the stream
    Bytes bytes() const { return {buffer->data(), size}; }
  };

  explicit ByteThread(std::function<void(const Piece&)> work);
  /// Drops the pieces still waiting, unless finish() was called.
  ~ByteThread();
  ByteThread(const ByteThread&) = delete;
  ByteThread& operator=(const ByteThread&) = delete;

  /// Waits while too many pieces are queued. Throws what the work threw.
  void push(Piece piece);
  /// Waits until all pieces are done. Throws what the work threw.
  void finish();

 private:
  static constexpr std::size_t kWaiting = 3;
  void loop();
  void end(bool drop);

  std::function<void(const Piece&)> work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> waiting_;
  std::exception_ptr failure_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace packhorse
