#include "unit/trainer/input/fake_gpu.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace packhorse::test {
namespace {

constexpr int kPoison = 0xDB;

std::size_t hash_of(const void* data, std::size_t bytes) {
  return std::hash<std::string_view>()({static_cast<const char*>(data), bytes});
}

thread_local FakeStream* current_stream = nullptr;  // none: the one that computes

}  // namespace

FakeStream::FakeStream(Pace pace, std::uint64_t seed)
    : pace_(pace), random_(seed), thread_([this] { run(); }) {}

FakeStream::~FakeStream() {
  wait_for_all();
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::uint64_t FakeStream::queue(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  ++queued_;
  // Now and then a stream comes to run by itself.
  if (pace_ != Pace::kAsked || random_() % 16 == 0) asked_ = queued_;
  changed_.notify_all();
  return queued_;
}

void FakeStream::wait(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  asked_ = std::max(asked_, number);
  changed_.notify_all();
  changed_.wait(lock, [&] { return done_ >= number; });
}

void FakeStream::wait_for_all() {
  std::unique_lock lock(mutex_);
  const std::uint64_t last = queued_;
  lock.unlock();
  wait(last);
}

bool FakeStream::done(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  return done_ >= number;
}

void FakeStream::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || done_ < asked_; });
    if (ends_) return;
    const std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    const auto pause = std::chrono::microseconds(pace_ == Pace::kLate ? random_() % 100 : 0);
    lock.unlock();
    if (pause.count() > 0) std::this_thread::sleep_for(pause);
    work();
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
}

FakeMachine::FakeMachine(std::uint64_t seed) : random_(seed) {}

FakeMachine::~FakeMachine() {
  for (const auto& [number, stream] : streams_) stream->wait_for_all();
}

FakeStream& FakeMachine::stream(std::size_t number) {
  const std::lock_guard lock(mutex_);
  auto& stream = streams_[number];
  if (!stream) stream = std::make_unique<FakeStream>(static_cast<Pace>(random_() % 3), random_());
  return *stream;
}

at::Tensor FakeMachine::allocate(FakeStream& on, at::IntArrayRef sizes, at::ScalarType type) {
  std::size_t bytes = c10::elementSize(type);
  for (const std::int64_t size : sizes) bytes *= static_cast<std::size_t>(size);
  const std::lock_guard lock(mutex_);
  Block* found = nullptr;
  for (Block& block : blocks_) {
    if (!block.used && block.of == &on && block.size >= bytes) found = &block;
  }
  if (found == nullptr) {
    blocks_.push_back({std::make_unique<std::byte[]>(bytes), bytes, &on});
    found = &blocks_.back();
    std::memset(found->bytes.get(), kPoison, bytes);
  }
  found->used = true;
  return at::from_blob(
      found->bytes.get(), sizes, [this, found](void*) { free(*found); }, at::TensorOptions(type));
}

void FakeMachine::free(Block& block) {
  block.of->queue(
      [bytes = block.bytes.get(), size = block.size] { std::memset(bytes, kPoison, size); });
  const std::lock_guard lock(mutex_);
  block.used = false;
}

// LibTorch gives pinned memory to others only when the copies from it are done.
at::Tensor FakeMachine::pin(at::IntArrayRef sizes, at::ScalarType type) {
  std::size_t bytes = c10::elementSize(type);
  for (const std::int64_t size : sizes) bytes *= static_cast<std::size_t>(size);
  const std::lock_guard lock(mutex_);
  blocks_.push_back({std::make_unique<std::byte[]>(bytes), bytes});
  return at::from_blob(blocks_.back().bytes.get(), sizes, at::TensorOptions(type));
}

bool FakeMachine::holds(const void* from, std::size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(from);
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(blocks_, [&](const Block& block) {
    return block.used && first >= block.bytes.get() &&
           first + bytes <= block.bytes.get() + block.size;
  });
}

std::size_t FakeMachine::allocated() {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const Block& block : blocks_) sum += block.of != nullptr ? block.size : 0;
  return sum;
}

void FakeMachine::blame(std::string what) {
  const std::lock_guard lock(mutex_);
  blamed_.push_back(std::move(what));
}

std::vector<std::string> FakeMachine::blamed() {
  const std::lock_guard lock(mutex_);
  return blamed_;
}

FakeGpu::On::On(const Stream& stream) : before_(std::exchange(current_stream, &stream.get())) {}
FakeGpu::On::~On() { current_stream = before_; }

void FakeGpu::Event::record(const Stream& stream) {
  of_ = &stream.get();
  number_ = of_->queue([] {});
}

void FakeGpu::Event::block(const Stream& stream) const {
  if (of_ == nullptr || of_ == &stream.get()) return;
  stream.get().queue([of = of_, number = number_] { of->wait(number); });
}

void FakeGpu::Event::synchronize() const {
  if (of_ != nullptr) of_->wait(number_);
}

FakeGpu::Stream FakeGpu::current() const {
  return current_stream != nullptr ? Stream(*current_stream) : Stream(machine_->stream(0));
}

at::Tensor FakeGpu::on_device(at::IntArrayRef sizes, at::ScalarType type) const {
  return machine_->allocate(current().get(), sizes, type);
}

at::Tensor FakeGpu::pinned(at::IntArrayRef sizes, at::ScalarType type) const {
  return machine_->pin(sizes, type);
}

void FakeGpu::copy(const at::Tensor& to, const at::Tensor& from) const {
  if (!to.is_contiguous() || !from.is_contiguous() || to.nbytes() != from.nbytes())
    throw std::invalid_argument("copies are of contiguous memory of one size");
  current().get().queue([machine = machine_, target = to.mutable_data_ptr(),
                         source = from.const_data_ptr(), bytes = to.nbytes(),
                         hash = hash_of(from.const_data_ptr(), to.nbytes())] {
    if (hash_of(source, bytes) != hash) machine->blame("memory changed before it was copied");
    std::memcpy(target, source, bytes);
  });
}

}  // namespace packhorse::test
