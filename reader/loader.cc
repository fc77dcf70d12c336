#include "packhorse/reader/loader.h"

#include <thread>
#include <utility>
#include <vector>

#include "packhorse/error.h"
#include "packhorse/pack.h"
#include "packhorse/reader/decode.h"
#include "ring.h"

namespace packhorse::reader {

namespace {

constexpr int kMaxWorkers = 1024;
constexpr std::size_t kCacheLine = 64;

using Clock = std::chrono::steady_clock;

std::uint64_t ns_since(Clock::time_point begin) {
  return static_cast<std::uint64_t>((Clock::now() - begin) / std::chrono::nanoseconds(1));
}

/// One producer's tools and what it has done. On its own cache lines: counters are written every
/// sample.
struct alignas(kCacheLine) Producer {
  explicit Producer(const DecodeOptions& options) : decoder(options) {}
  Decoder decoder;
  std::vector<std::byte> bytes;
  std::atomic<std::uint64_t> samples{0}, bytes_read{0}, read_ns{0}, decode_ns{0}, wait_ns{0};
};

/// Only the owner writes, so no read-modify-write is needed.
void add(std::atomic<std::uint64_t>& counter, std::uint64_t value) {
  counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

/// The exception being handled, with the sample named in it.
std::exception_ptr current_error_at(const Dataset& dataset, std::uint64_t sample) {
  try {
    throw;
  } catch (const Error& error) {
    return std::make_exception_ptr(Error(error.kind(),
                                         dataset.describe(sample) + ": " + error.what(),
                                         error.path(), error.advice(), error.key()));
  } catch (...) {
    return std::current_exception();
  }
}

OrderOptions order_options(const LoaderOptions& options, std::uint64_t epoch, std::uint64_t done) {
  return {.shuffle = options.shuffle,
          .seed = options.seed,
          .epoch = epoch,
          .rank = options.rank,
          .world = options.world,
          .batch_size = options.batch_size,
          .tail = options.tail,
          .done = done};
}

std::size_t bytes_of_image(const LoaderOptions& options) {
  const auto size = static_cast<std::size_t>(output_size(options.augment));
  return size * size * 3;
}

const LoaderOptions& checked(const LoaderOptions& options) {
  options.validate();
  return options;
}

}  // namespace

void LoaderOptions::validate() const {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw Error(ErrorKind::kUsage, what);
  };
  require(batch_size >= 1 && batch_size <= 1 << 20, "the batch size must be within 1 and 1048576");
  require(workers >= -1 && workers <= kMaxWorkers,
          "workers must be -1 (as many as the process may use) or within 0 and 1024");
  require(slots >= 2 && slots <= 1 << 16, "slots must be within 2 and 65536");
  require(!allocator.allocate == !allocator.deallocate,
          "a slot allocator needs both functions, allocate and deallocate");
  reader::validate(augment);
  reader::validate(pixels);
  static_cast<void>(Order(0, order_options(*this, 0, 0)));
}

struct Loader::Impl {
  Impl(std::shared_ptr<const Dataset> dataset_in, LoaderOptions options_in)
      : dataset(std::move(dataset_in)),
        options(std::move(options_in)),
        image_bytes(bytes_of_image(checked(options))),
        ring(options.slots, options.batch_size,
             static_cast<std::size_t>(options.batch_size) * image_bytes, options.allocator) {
    const int workers = options.workers < 0 ? available_cpus() : options.workers;
    const DecodeOptions decode_options{.apply_orientation = options.apply_orientation,
                                       .scaled_dct = options.scaled_dct,
                                       .pixels = options.pixels};
    for (int i = 0; i < std::max(workers, 1); ++i) {
      producers.push_back(std::make_unique<Producer>(decode_options));
    }
    for (int i = 0; i < workers; ++i) {
      Producer& producer = *producers[static_cast<std::size_t>(i)];
      threads.emplace_back(
          [this, &producer](const std::stop_token& stop) { work(producer, stop); });
    }
  }

  ~Impl() {
    ring.end_epoch();
    // All of them first, so that they stop at the same time; the destructors join.
    for (std::jthread& thread : threads) thread.request_stop();
  }

  void work(Producer& producer, const std::stop_token& stop) {
    std::uint64_t epochs_seen = 0;
    while (ring.enter(epochs_seen, stop)) {
      take_tickets(producer, stop);
      ring.leave();
    }
  }

  void take_tickets(Producer& producer, const std::stop_token& stop) {
    const auto batch_size = static_cast<std::uint64_t>(options.batch_size);
    while (!ring.over()) {
      const std::uint64_t ticket = next_ticket.fetch_add(1, std::memory_order_relaxed);
      if (ticket >= order->size()) return;
      const auto place = static_cast<std::int64_t>(ticket % batch_size);
      if (!produce(producer, ticket / batch_size, place, stop)) return;
    }
  }

  /// Makes one sample in its place. False: the epoch is over.
  bool produce(Producer& producer, std::uint64_t step, std::int64_t place,
               const std::stop_token& stop) {
    if (!ring.is_open(step)) {
      const Clock::time_point begin = Clock::now();
      const bool open = ring.wait_open(step, stop);
      add(producer.wait_ns, ns_since(begin));
      if (!open) return false;
    }
    const std::uint64_t sample = order->sample(step, place);
    try {
      fill(producer, ring.slot(step), static_cast<std::size_t>(place), sample);
    } catch (...) {
      ring.fail(current_error_at(*dataset, sample));
      return false;
    }
    ring.complete_one(step, order->batch_size(step));
    return true;
  }

  void fill(Producer& producer, Ring::Slot& slot, std::size_t place, std::uint64_t sample) {
    const Clock::time_point begin = Clock::now();
    dataset->read(sample, producer.bytes);
    add(producer.read_ns, ns_since(begin));
    add(producer.bytes_read, producer.bytes.size());
    if (options.decode) {
      const Clock::time_point decode_begin = Clock::now();
      producer.decoder.decode(
          producer.bytes, options.augment, SampleRandom(options.seed, epoch, sample),
          {slot.images + place * image_bytes, image_bytes}, dataset->image(sample));
      add(producer.decode_ns, ns_since(decode_begin));
    }
    slot.labels[place] = dataset->label(sample);
    slot.samples[place] = sample;
    add(producer.samples, 1);
  }

  std::shared_ptr<const Dataset> dataset;
  LoaderOptions options;
  std::size_t image_bytes;
  Ring ring;
  // Changed only while no producer is in an epoch:
  std::optional<Order> order;
  std::uint64_t epoch = 0;
  std::atomic<std::uint64_t> next_ticket{0};
  // The consumer's:
  std::uint64_t next_step = 0;  ///< of next()
  std::atomic<std::uint64_t> consumer_wait_ns{0}, batches{0}, ready_batches_sum{0};

  std::vector<std::unique_ptr<Producer>> producers;
  std::vector<std::jthread> threads;  // last: they use everything above
};

Loader::Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options)
    : impl_(std::make_unique<Impl>(std::move(dataset), std::move(options))) {}

Loader::~Loader() = default;

void Loader::start_epoch(std::uint64_t epoch, std::uint64_t done) {
  Order order(impl_->dataset->size(), order_options(impl_->options, epoch, done));
  impl_->ring.end_epoch();
  impl_->order.emplace(order);
  impl_->epoch = epoch;
  impl_->next_ticket = 0;
  impl_->next_step = 0;
  impl_->ring.begin_epoch();
}

std::optional<Batch> Loader::next() {
  Impl& impl = *impl_;
  if (!impl.order) throw Error(ErrorKind::kUsage, "Loader::start_epoch() must come before next()");
  if (impl.next_step == impl.order->steps()) return std::nullopt;
  const Clock::time_point begin = Clock::now();
  if (impl.threads.empty()) {
    for (std::int64_t place = 0; place < impl.order->batch_size(impl.next_step); ++place) {
      if (!impl.produce(*impl.producers.front(), impl.next_step, place, {})) break;
    }
  }
  std::uint64_t ready = 0;
  Ring::Slot& slot = impl.ring.take(impl.next_step, ready);
  add(impl.consumer_wait_ns, ns_since(begin));
  add(impl.ready_batches_sum, ready);
  add(impl.batches, 1);

  Batch batch;
  batch.loader_ = this;
  batch.slot_ = impl.ring.index(impl.next_step);
  batch.step_ = impl.next_step;
  batch.size_ = impl.order->batch_size(impl.next_step);
  const auto size = static_cast<std::size_t>(batch.size_);
  batch.images_ = {slot.images, size * impl.image_bytes};
  batch.labels_ = {slot.labels.data(), size};
  batch.samples_ = {slot.samples.data(), size};
  ++impl.next_step;
  return batch;
}

std::uint64_t Loader::steps() const { return impl_->order ? impl_->order->steps() : 0; }

LoaderState Loader::state() const {
  return {impl_->options.seed, impl_->epoch,
          impl_->order ? impl_->order->done_after(impl_->next_step) : 0};
}

LoaderCounters Loader::counters() const {
  LoaderCounters total;
  for (const std::unique_ptr<Producer>& producer : impl_->producers) {
    total.samples += producer->samples;
    total.bytes += producer->bytes_read;
    total.read_ns += producer->read_ns;
    total.decode_ns += producer->decode_ns;
    total.slot_wait_ns += producer->wait_ns;
  }
  total.consumer_wait_ns = impl_->consumer_wait_ns;
  total.batches = impl_->batches;
  total.ready_batches_sum = impl_->ready_batches_sum;
  return total;
}

int Loader::workers() const { return static_cast<int>(impl_->threads.size()); }

Batch::Batch(Batch&& other) noexcept { *this = std::move(other); }

Batch& Batch::operator=(Batch&& other) noexcept {
  if (this == &other) return *this;
  if (loader_ != nullptr) loader_->impl_->ring.give_back(slot_);
  loader_ = std::exchange(other.loader_, nullptr);
  slot_ = other.slot_;
  step_ = other.step_;
  size_ = std::exchange(other.size_, 0);
  images_ = std::exchange(other.images_, {});
  labels_ = std::exchange(other.labels_, {});
  samples_ = std::exchange(other.samples_, {});
  return *this;
}

Batch::~Batch() {
  if (loader_ != nullptr) loader_->impl_->ring.give_back(slot_);
}

}  // namespace packhorse::reader
