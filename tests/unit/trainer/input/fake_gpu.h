#pragma once

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

/// A GPU that is not one: its streams are threads that do their work late, its copies read the host
/// only when they run and know whether it has changed since, and memory is poisoned when it is
/// freed. What is used too early shows as wrong pixels, and under ThreadSanitizer as a race.
namespace packhorse::test {

/// When a stream does what it is told.
enum class Pace {
  kAtOnce,
  kLate,   ///< after a pause, drawn
  kAsked,  ///< when somebody waits for it
};

/// Work in order. Any thread.
class FakeStream {
 public:
  FakeStream(Pace pace, std::uint64_t seed);
  ~FakeStream();
  FakeStream(const FakeStream&) = delete;
  FakeStream& operator=(const FakeStream&) = delete;

  /// Returns the work's number, counted from 1.
  std::uint64_t queue(std::function<void()> work);
  /// Waits until everything up to this number is done.
  void wait(std::uint64_t number);
  void wait_for_all();
  bool done(std::uint64_t number);

 private:
  void run();

  const Pace pace_;
  std::mt19937_64 random_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::uint64_t queued_ = 0, asked_ = 0, done_ = 0;
  bool ends_ = false;
  std::thread thread_;  // last: it uses all of the above
};

/// The streams and the memory. Memory that is freed is given to the next who asks on the stream
/// that it was allocated on, as LibTorch does it: without waiting for any other stream. All of it
/// stays until the end, so that the faults of others do not become the test's.
class FakeMachine {
 public:
  explicit FakeMachine(std::uint64_t seed);
  ~FakeMachine();

  FakeStream& stream(std::size_t number);  ///< 0: the one that computes
  at::Tensor allocate(FakeStream& on, at::IntArrayRef sizes, at::ScalarType type);
  at::Tensor pin(at::IntArrayRef sizes, at::ScalarType type);
  /// Whether these bytes lie in memory that is allocated now.
  bool holds(const void* from, std::size_t bytes);
  std::size_t allocated();  ///< bytes, also those that were given back

  /// What a part of the machine found that it must not be asked.
  void blame(std::string what);
  std::vector<std::string> blamed();

 private:
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
    FakeStream* of = nullptr;
    bool used = true;
  };
  void free(Block& block);

  std::mt19937_64 random_;
  std::mutex mutex_;
  std::deque<Block> blocks_;
  std::vector<std::string> blamed_;
  std::map<std::size_t, std::unique_ptr<FakeStream>> streams_;  // last: their work uses the memory
};

/// The interface of trainer/input/cuda.h. `Decoder` has what makes it: see stub_nvjpeg.h.
class FakeGpu {
 public:
  class Stream {
   public:
    explicit Stream(FakeStream& stream) : stream_(&stream) {}
    void synchronize() const { stream_->wait_for_all(); }
    FakeStream& get() const { return *stream_; }
    /// As a library of CUDA's sees it.
    template <class Handle>
    requires std::is_pointer_v<Handle>
    explicit(false) operator Handle() const { return reinterpret_cast<Handle>(stream_); }

   private:
    FakeStream* stream_;
  };

  class On {
   public:
    explicit On(const Stream& stream);
    ~On();
    On(const On&) = delete;
    On& operator=(const On&) = delete;

   private:
    FakeStream* before_;
  };

  class Event {
   public:
    void record(const Stream& stream);
    void block(const Stream& stream) const;
    void synchronize() const;

   private:
    FakeStream* of_ = nullptr;
    std::uint64_t number_ = 0;
  };

  explicit FakeGpu(FakeMachine& machine) : machine_(&machine) {}

  Stream copy_stream(std::size_t number) const { return Stream(machine_->stream(1 + number)); }
  Stream current() const;
  at::Tensor on_device(at::IntArrayRef sizes, at::ScalarType type) const;
  at::Tensor pinned(at::IntArrayRef sizes, at::ScalarType type) const;
  void copy(const at::Tensor& to, const at::Tensor& from) const;
  FakeMachine& machine() const { return *machine_; }

 private:
  FakeMachine* machine_;
};

}  // namespace packhorse::test
