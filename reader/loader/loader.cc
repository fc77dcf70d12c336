#include "packhorse/reader/loader.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/resources.h"
#include "base/stop.h"
#include "codecs/image_header.h"
#include "loader/band_survey.h"
#include "loader/batch_fields.h"
#include "loader/batch_mixer.h"
#include "loader/latency.h"
#include "loader/ring.h"
#include "loader/sample_producer.h"
#include "loader/slot_pool.h"
#include "loader/storage_prefetcher.h"
#include "loader/targets_reader.h"
#include "order/order.h"
#include "packhorse/base/error.h"
#include "packhorse/base/mapped_file.h"
#include "pixel_format/pixel_writer.h"

namespace packhorse::reader {

namespace {

constexpr double kInMemory = 0.99;  // with this share in memory, prefetching only costs time

using Clock = std::chrono::steady_clock;

LoaderOptions checked(LoaderOptions options) {
  options.validate();
  return options;
}

BandChoice bands_for(const Dataset& dataset, const LoaderOptions& options) {
  refuse_undecodable(dataset, options.bad_samples,
                     options.bands ? PixelUse::kBands : PixelUse::kColours);
  return options.bands ? survey_bands(dataset, options) : BandChoice{};
}

}  // namespace

struct Loader::Impl {
  Impl(std::shared_ptr<const Dataset> dataset_in, LoaderOptions options_in)
      : dataset(std::move(dataset_in)),
        options(checked(std::move(options_in))),
        bands(bands_for(*dataset, options)),
        views(view_places(options, bands)),
        writer(options.format, bands.numbers.size(), bands.bits != 32),
        ring(options.slots, options.batch_size, bytes_of_slot(views, options.batch_size),
             options.allocator),
        bad(options.bad_samples, dataset->size(), options.seed),
        sampling(std::exchange(options.sampling, {})) {
    weigh(std::exchange(sampling.weights, nullptr));
    replaces = sampler->replaces();
    comes_once = sampler->is_plain();
    if (options.targets) {
      targets_reader.emplace(*dataset);
      refuse_mixed_masks();
      refuse_moving_steps();
    }
    if (!options.fields.empty()) fields_reader.emplace(*dataset, options.fields);
    if (options.mix.any()) mixer.emplace(options, dataset->classes().size(), channels_of(bands));
    for (std::uint64_t slot = 0; slot < static_cast<std::uint64_t>(options.slots); ++slot) {
      const auto places = static_cast<std::size_t>(options.batch_size);
      if (places_left_encoded(options) > 0) ring.slot(slot).encoded.resize(places);
      if (targets_reader) give_places(ring.slot(slot), places, pixels_of_mask());
      if (fields_reader) ring.slot(slot).fields = fields_reader->make_room(places);
    }
    if (options.order == OrderKind::kWindow || options.order == OrderKind::kWindowFirst)
      runs = std::make_shared<Runs>(*dataset, options.run_bytes);
    const int workers = options.workers < 0 ? available_cpus() : options.workers;
    const SampleMaker::Shared shared{*dataset,
                                     options,
                                     bands,
                                     views,
                                     writer,
                                     targets_reader ? &*targets_reader : nullptr,
                                     fields_reader ? &*fields_reader : nullptr};
    for (int i = 0; i < std::max(workers, 1); ++i)
      producers.push_back(std::make_unique<SampleProducer>(shared, ring, bad));
    for (int i = 0; i < workers; ++i) {
      SampleProducer& producer = *producers[static_cast<std::size_t>(i)];
      threads.emplace_back(
          [this, &producer](const std::stop_token& stop) { work(producer, stop); });
    }
    if (const std::stop_token stop = current_stop(); stop.stop_possible())
      on_stop.emplace(stop, [ending = ending]() mutable { ending.request_stop(); });
  }

  void refuse_mixed_masks() const {
    const auto* const detection = std::get_if<DetectionAugment>(&options.augment);
    if (detection != nullptr && detection->mixup.probability > 0 && targets_reader->has_masks())
      throw Error(ErrorKind::kUsage, "Mixup leaves no pixel one class, and the dataset has masks",
                  {}, "leave one of them out");
  }

  void refuse_moving_steps() const {
    if (!targets_reader->has_objects() && !targets_reader->has_masks()) return;
    const auto step = std::ranges::find_if(options.pixels, &PixelStep::moves_pixels);
    if (step == options.pixels.end()) return;
    throw Error(ErrorKind::kUsage,
                std::string(step->name()) + " moves pixels, and would leave their objects behind",
                {}, "leave it out; a DetectionAugment moves, turns and flips both");
  }

  std::size_t pixels_of_mask() const {
    return targets_reader->has_masks() ? pixels_of_image(options) : 0;
  }

  ~Impl() {
    ending.request_stop();  // of requests that somebody waits for
    ring.end_epoch();
    // Stops are requested of all threads first, so that they stop at the same time; the destructors
    // join.
    for (std::jthread& thread : threads) thread.request_stop();
  }

  void work(SampleProducer& producer, const std::stop_token& stop) {
    const StopScope scope(ending.get_token());
    std::uint64_t epochs_seen = 0;
    while (ring.enter(epochs_seen, stop)) {
      take_tickets(producer, stop);
      ring.leave();
    }
  }

  /// Makes the tables, beside which the weights need not stay.
  void weigh(Sampling::Weights weights) {
    Sampling weighed = sampling;
    weighed.weights = std::move(weights);
    sampler = std::make_shared<Sampler>(*dataset, weighed);
  }

  Order make_order(std::uint64_t epoch_number, std::uint64_t done) const {
    OrderOptions wanted = order_options(options, epoch_number, done);
    wanted.runs = runs;
    wanted.runs_per_window = static_cast<std::size_t>(options.window_bytes / options.run_bytes);
    Order made(sampler, wanted);
    if (made.steps() == 0 && done == 0 && options.tail == Tail::kDrop) refuse_no_batch();
    return made;
  }

  [[noreturn]] void refuse_no_batch() const {
    const std::string ranks =
        options.world == 1 ? "" : " on each of " + std::to_string(options.world) + " ranks";
    throw Error(
        ErrorKind::kUsage,
        "an epoch has no batch: " + std::string(sampler->is_plain() ? "the dataset" : "it") +
            " has " + std::to_string(sampler->size()) + " samples, and a batch takes " +
            std::to_string(options.batch_size) + ranks,
        {}, "use a smaller batch, or deliver an incomplete one with Tail::kKeep or Tail::kPad");
  }

  void begin_epoch(const Order& new_order, std::uint64_t epoch_number) {
    ring.end_epoch();
    end_prefetch();
    order.emplace(new_order);
    epoch = epoch_number;
    next_ticket = 0;
    next_step = 0;
    delivered = distinct = 0;
    seen.assign(comes_once ? 0 : dataset->size(), false);
    if (!threads.empty() && options.prefetch_bytes > 0 && order->size() > 0 &&
        dataset->resident_share() < kInMemory) {
      const std::scoped_lock lock(prefetch_mutex);
      prefetcher = std::make_unique<Prefetcher>(*dataset, *order, options.prefetch_bytes,
                                                ending.get_token());
    }
    ring.begin_epoch();
  }

  void end_prefetch() {
    const std::scoped_lock lock(prefetch_mutex);
    if (prefetcher) prefetched_before += prefetcher->bytes();
    prefetcher.reset();
  }

  void take_tickets(SampleProducer& producer, const std::stop_token& stop) {
    const auto batch_size = static_cast<std::uint64_t>(options.batch_size);
    while (!ring.over()) {
      const std::uint64_t ticket = next_ticket.fetch_add(1, std::memory_order_relaxed);
      if (ticket >= order->size()) return;
      if (prefetcher) prefetcher->reached(ticket);
      const auto place = static_cast<std::int64_t>(ticket % batch_size);
      if (!produce(producer, ticket / batch_size, place, stop)) return;
    }
  }

  /// Makes one sample in its place. Returns false when the epoch is over.
  bool produce(SampleProducer& producer, std::uint64_t step, std::int64_t place,
               const std::stop_token& stop) {
    if (!producer.wait_open(step, stop)) return false;
    Ring::Slot& slot = ring.slot(step);
    if (place == 0) {
      slot.begun = Clock::now();
      MappedFile::arm();
    }
    const Draw draw = order->draw(step, place);
    if (!producer.make(slot, static_cast<std::size_t>(place), *order, epoch, draw)) return false;
    const std::int64_t size = order->batch_size(step);
    if (!ring.complete_one(step, size)) return true;
    if (mixer && !mix(slot, step, size)) return false;
    ring.make_ready(step);
    batch_make.add(ns_since(slot.begun));
    return true;
  }

  /// Returns false when that failed, which ends the epoch.
  bool mix(Ring::Slot& slot, std::uint64_t step, std::int64_t size) try {
    const auto rank = static_cast<std::uint64_t>(options.rank);  // each rank mixes in its own way
    mixer->mix(slot, size, epoch, order->done_after(step) + rank);
    return true;
  } catch (...) {
    ring.fail(std::current_exception());
    return false;
  }

  void count(std::span<const std::uint64_t> samples) {
    add(delivered, samples.size());
    if (seen.empty()) return;
    for (const std::uint64_t sample : samples) {
      if (sample == kLeftOut || seen[sample]) continue;
      seen[sample] = true;
      add(distinct, 1);
    }
  }

  std::shared_ptr<const Dataset> dataset;
  LoaderOptions options;
  BandChoice bands;  ///< none where colours are wanted
  std::vector<ViewPlace> views;
  PixelWriter writer;
  Ring ring;
  BadSampleLog bad;
  Sampling sampling;                       ///< without its weights
  std::shared_ptr<const Sampler> sampler;  ///< of the next epoch; for the consumer alone
  bool replaces = false, comes_once = true;
  std::optional<TargetsReader> targets_reader;  ///< where targets are read
  std::optional<FieldsReader> fields_reader;    ///< where fields are read
  std::optional<BatchMixer> mixer;              ///< where batches are mixed
  std::shared_ptr<const Runs> runs;             ///< for windows
  LatencyHistogram batch_wait, batch_make;
  // These change only while no producer is in an epoch:
  std::optional<Order> order;
  std::uint64_t epoch = 0;
  std::unique_ptr<Prefetcher> prefetcher;
  std::uint64_t prefetched_before = 0;  ///< bytes, by the prefetchers of earlier epochs
  mutable std::mutex prefetch_mutex;    ///< guards the prefetcher and its total, for counters()
  // Every producer writes it for every sample, and reads what stands around it:
  alignas(kCacheLine) std::atomic<std::uint64_t> next_ticket{0};
  // These belong to the consumer:
  alignas(kCacheLine) std::uint64_t next_step = 0;  ///< the step that next() returns next
  std::atomic<std::uint64_t> consumer_wait_ns{0}, batches{0}, ready_batches_sum{0};
  std::vector<bool> seen;  ///< the samples delivered, where they may come again
  std::atomic<std::uint64_t> delivered{0}, distinct{0};

  /// What the threads obey: the stop of the thread that made the loader, and the loader's end.
  std::stop_source ending;
  std::optional<std::stop_callback<std::function<void()>>> on_stop;

  std::vector<std::unique_ptr<SampleProducer>> producers;
  std::vector<std::jthread> threads;  // last: they use everything above
};

Loader::Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options)
    : impl_(std::make_unique<Impl>(std::move(dataset), std::move(options))) {}

Loader::~Loader() = default;

void Loader::start_epoch(std::uint64_t epoch, std::uint64_t done) {
  impl_->begin_epoch(impl_->make_order(epoch, done), epoch);
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
  const std::uint64_t waited = ns_since(begin);
  impl.batch_wait.add(waited);
  add(impl.consumer_wait_ns, waited);
  add(impl.ready_batches_sum, ready);
  add(impl.batches, 1);

  Batch batch;
  batch.loader_ = this;
  batch.slot_ = impl.ring.index(impl.next_step);
  batch.step_ = impl.next_step;
  batch.size_ = impl.order->batch_size(impl.next_step);
  const auto size = static_cast<std::size_t>(batch.size_);
  batch.slot_images_ = slot.images.get();
  batch.views_ = impl.views;
  batch.labels_ = {slot.labels.data(), size};
  batch.samples_ = {slot.samples.data(), size};
  if (!slot.encoded.empty()) batch.encoded_ = {slot.encoded.data(), size};
  batch.channels_ = static_cast<int>(channels_of(impl.bands));
  join_targets(slot, size);
  batch.targets_ = &slot.targets;
  batch.mixed_ = &slot.mixed;
  batch.fields_ = &slot.fields;
  impl.count(batch.samples_);
  ++impl.next_step;
  return batch;
}

bool Loader::wait(std::chrono::nanoseconds most) {
  Impl& impl = *impl_;
  if (!impl.order || impl.threads.empty() || impl.next_step == impl.order->steps()) return true;
  return impl.ring.wait_ready(impl.next_step, most);
}

std::uint64_t Loader::steps() const { return impl_->order ? impl_->order->steps() : 0; }

std::uint64_t Loader::steps_of_epoch(std::uint64_t done) const {
  OrderOptions any = order_options(impl_->options, 0, done);
  any.kind = OrderKind::kSequential;  // the number does not depend on it
  return Order(impl_->sampler->size(), any).steps();
}

LoaderState Loader::state() const {
  return {impl_->options.seed, impl_->epoch,
          impl_->order ? impl_->order->done_after(impl_->next_step) : 0};
}

LoaderCounters Loader::counters() const {
  LoaderCounters total;
  for (const std::unique_ptr<SampleProducer>& producer : impl_->producers) producer->add_to(total);
  total.consumer_wait_ns = impl_->consumer_wait_ns;
  total.batches = impl_->batches;
  total.ready_batches_sum = impl_->ready_batches_sum;
  total.bad_samples = impl_->bad.count();
  total.batch_wait = impl_->batch_wait.summary();
  total.batch_make = impl_->batch_make.summary();
  const std::scoped_lock lock(impl_->prefetch_mutex);
  total.prefetched_bytes =
      impl_->prefetched_before + (impl_->prefetcher ? impl_->prefetcher->bytes() : 0);
  return total;
}

void Loader::set_weights(Sampling::Weights weights) {
  using By = Sampling::By;
  const By by = impl_->sampling.by;
  if (by != By::kClasses && by != By::kSamples && by != By::kMembers)
    throw Error(ErrorKind::kUsage, "this loader has no weights that can change", {},
                "make it with `weights=` of classes, samples or datasets");
  impl_->weigh(std::move(weights));
}

std::string Loader::sampling_id() const { return impl_->sampler->id(); }

SamplingReport Loader::sampling_report() const {
  const std::uint64_t delivered = impl_->delivered;
  return {impl_->replaces, delivered, impl_->comes_once ? delivered : impl_->distinct.load()};
}

std::vector<std::uint64_t> Loader::members_done(std::uint64_t done) const {
  return impl_->order ? impl_->order->draws().of_members(done) : std::vector<std::uint64_t>();
}

ShuffleQuality Loader::shuffle_quality() const {
  constexpr std::uint64_t kBatches = 100;
  if (!impl_->order) return {};
  return reader::shuffle_quality(*impl_->dataset, *impl_->order, kBatches);
}

std::vector<BadSample> Loader::bad_samples() const { return impl_->bad.named(); }

int Loader::workers() const { return static_cast<int>(impl_->threads.size()); }

Batch::Batch(Batch&& other) noexcept { *this = std::move(other); }

Batch& Batch::operator=(Batch&& other) noexcept {
  if (this == &other) return *this;
  if (loader_ != nullptr) loader_->impl_->ring.give_back(slot_);
  loader_ = std::exchange(other.loader_, nullptr);
  slot_ = other.slot_;
  step_ = other.step_;
  size_ = std::exchange(other.size_, 0);
  slot_images_ = std::exchange(other.slot_images_, nullptr);
  views_ = std::exchange(other.views_, {});
  labels_ = std::exchange(other.labels_, {});
  samples_ = std::exchange(other.samples_, {});
  encoded_ = std::exchange(other.encoded_, {});
  channels_ = other.channels_;
  targets_ = other.targets_;
  mixed_ = other.mixed_;
  fields_ = other.fields_;
  return *this;
}

std::shared_ptr<std::uint8_t> Batch::keep_images() {
  if (loader_ == nullptr) throw Error(ErrorKind::kUsage, "this Batch was moved from");
  return loader_->impl_->ring.keep_images(slot_);
}

BatchTargets Batch::take_targets() {
  if (loader_ == nullptr) throw Error(ErrorKind::kUsage, "this Batch was moved from");
  return std::exchange(*targets_, {});
}

std::vector<BatchField> Batch::take_fields() {
  if (loader_ == nullptr) throw Error(ErrorKind::kUsage, "this Batch was moved from");
  const Loader::Impl& impl = *loader_->impl_;
  if (!impl.fields_reader) return {};
  const auto places = static_cast<std::size_t>(impl.options.batch_size);
  return std::exchange(*fields_, impl.fields_reader->make_room(places));
}

Batch::~Batch() {
  if (loader_ != nullptr) loader_->impl_->ring.give_back(slot_);
}

}  // namespace packhorse::reader
