#include "base/byte_thread.h"

namespace packhorse {

std::shared_ptr<AlignedBuffer> BufferPool::take() {
  std::unique_ptr<AlignedBuffer> buffer;
  {
    const std::scoped_lock lock(free_->mutex);
    if (!free_->buffers.empty()) {
      buffer = std::move(free_->buffers.back());
      free_->buffers.pop_back();
    }
  }
  if (!buffer) {
    buffer = std::make_unique<AlignedBuffer>();
    const std::scoped_lock lock(free_->mutex);
    free_->buffers.reserve(++free_->made);  // a buffer's return must not fail
  }
  return {buffer.release(), [free = free_](AlignedBuffer* returned) {
            const std::scoped_lock lock(free->mutex);
            free->buffers.emplace_back(returned);
          }};
}

ByteThread::ByteThread(std::function<void(const Piece&)> work)
    : work_(std::move(work)), thread_([this] { loop(); }) {}

ByteThread::~ByteThread() { end(true); }

void ByteThread::push(Piece piece) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.size() < kWaiting || failure_; });
  if (failure_) std::rethrow_exception(failure_);
  waiting_.push_back(std::move(piece));
  changed_.notify_all();
}

void ByteThread::finish() {
  end(false);
  if (failure_) std::rethrow_exception(failure_);
}

void ByteThread::end(bool drop) {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    if (drop) waiting_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ByteThread::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    if (waiting_.empty() || failure_) return;
    const Piece piece = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    changed_.notify_all();
    std::exception_ptr failure;
    try {
      work_(piece);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (!failure) continue;
    failure_ = failure;
    waiting_.clear();
    changed_.notify_all();
  }
}

}  // namespace packhorse
