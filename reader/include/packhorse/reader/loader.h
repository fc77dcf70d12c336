#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "packhorse/reader/augment.h"
#include "packhorse/reader/bad_samples.h"
#include "packhorse/reader/batch_fields.h"
#include "packhorse/reader/dataset.h"
#include "packhorse/reader/decode.h"
#include "packhorse/reader/mix.h"
#include "packhorse/reader/order_kind.h"
#include "packhorse/reader/pixel_format.h"
#include "packhorse/reader/sampling.h"
#include "packhorse/reader/targets.h"

/// Shards -> batches of pixels.
///
///     Loader loader(Dataset::open("packed/train"), {.batch_size = 256, .seed = 7});
///     loader.start_epoch(3);
///     while (std::optional<Batch> batch = loader.next()) {
///       use(batch->images(), batch->labels());        // uint8 [B, S, S, 3], int64 [B]
///     }                                               // the slot goes back when `batch` dies
namespace packhorse::reader {

/// Allocates memory for slots, when the Loader is made (and for Batch::keep_images()), and frees it
/// when neither the Loader nor a kept batch needs it; the trainer supplies pinned memory through
/// this. Set both functions or neither. The memory is aligned to 4 bytes or more. Any thread.
struct SlotAllocator {
  std::function<void*(std::size_t bytes)> allocate;
  std::function<void(void*, std::size_t bytes)> deallocate;
};

/// Allocates memory in 2 MiB pages where the kernel has them (MADV_HUGEPAGE): fewer TLB misses in
/// large slots.
SlotAllocator huge_page_allocator();

/// A stage of a worker's work on a sample.
enum class Stage { kRead, kDecode };

/// Called after each stage, from the thread that ran it, several at a time. Must not throw; the
/// workers wait for it.
using StageObserver = std::function<void(Stage stage, std::chrono::steady_clock::time_point begin,
                                         std::chrono::steady_clock::time_point end)>;

/// A sample that was decoded and augmented, before its numbers get the batch's type and layout.
struct DecodedSample {
  std::span<std::uint8_t> pixels;  ///< [height, width, channels]: bytes, or the bytes of float32
  ImageSize size = {};
  int channels = 3;
  bool floats = false;  ///< where they are bands
  std::int64_t label = 0;
  std::uint64_t sample = 0;  ///< its number in the dataset
  std::uint64_t seed = 0;    ///< a number drawn for (seed, epoch, sample)
};

/// Changes the pixels of a sample in place. Called by the thread that makes the sample, several at
/// a time. What it throws counts as what decoding throws.
using SampleHook = std::function<void(const DecodedSample&)>;

/// Pixels as they are stored, if they are more than colours of 8 bits: other bands, 16 bits,
/// floating-point numbers, an alpha.
struct BandOptions {
  std::vector<int> numbers = {};  ///< of the bands, counted from 0; empty: all
  int of = 0;                     ///< bands that images must have; 0: any number
  bool mixed_bits = false;        ///< take images of 8 and 16 bits together
};

/// One of several samples that are made of each image.
struct View {
  Augment augment = RandomResizedCrop{};
  PixelSteps pixels = {};  ///< applied to each sample, in this order
};

struct LoaderOptions {
  std::int64_t batch_size = 64;
  int workers = -1;  ///< threads; -1 = as many as the process may use, 0 = decode in next() itself
  int slots = 4;     ///< batches in memory: ready, in the making, or with the consumer; 2 or more
  Augment augment = RandomResizedCrop{};
  PixelSteps pixels = {};  ///< applied to each sample, in this order
  /// Makes further samples of each image, each in a tensor of its own: Batch::images(1),
  /// Batch::images(2), ... The image is read and decoded once for all of them. Each draws from a
  /// stream of its own. They are crops, and need a crop in `augment`.
  std::vector<View> more_views = {};
  /// Reads the objects of the samples, too: Batch::targets(). The dataset must have some.
  std::optional<TargetRules> targets = {};
  /// From this epoch on, each sample is one picture: no Mosaic, Copy-Paste or Mixup, which
  /// detectors do without at the end of their training. Needs a DetectionAugment with one of them.
  std::optional<std::uint64_t> close_mosaic_from = {};
  /// Delivers stored bands instead of colours of 8 bits. All images must have the same bands, or
  /// those that are named, and as many bits. Then `pixels` must do nothing, a background is grey,
  /// and `format` may be kUint16.
  std::optional<BandOptions> bands = {};
  SampleHook sample_hook = {};  ///< called after `pixels`; empty: nobody
  /// What of the samples' fields is read, too: Batch::fields(). All must be in Dataset::fields().
  std::vector<std::string> fields = {};
  /// Mixes each batch, in the thread that completes it, by (seed, epoch, place of the batch in the
  /// epoch): Batch::mixed(). Of classified images alone, and whole batches: not with targets, an
  /// `encoded_share`, bands of mixed bits, or samples that are left out.
  MixOptions mix = {};
  double label_smoothing = 0;     ///< of mixed labels: the share that is spread over all classes
  PixelFormat format = {};        ///< type, layout and scale of the numbers in Batch::images()
  bool apply_orientation = true;  ///< turn pictures as their EXIF says
  ScaledDct scaled_dct = ScaledDct::kOff;
  ImageLimits limits = {};  ///< images beyond are bad samples
  /// The share of each batch, from its first place on, that is left encoded where possible, for a
  /// consumer that decodes (Batch::encoded()). Not with ScaledDct, nor another `format`, nor a
  /// DetectionAugment.
  double encoded_share = 0;
  bool decode = true;  ///< false: read (and check) only; images stay zero. For measuring storage.
  OrderKind order = OrderKind::kGlobal;
  Sampling sampling = {};  ///< how often samples come; by default each once an epoch
  /// Windows: stored bytes that are mixed with each other, in contiguous runs of `run_bytes`.
  std::uint64_t window_bytes = 256u << 20;
  std::uint64_t run_bytes = 4u << 20;
  /// How far ahead of the workers samples that are not in memory are requested from the storage
  /// (windows: at least one). Nothing is prefetched when this is 0 or there are no workers.
  std::uint64_t prefetch_bytes = 32u << 20;
  BadSampleOptions bad_samples = {};
  std::uint64_t seed = 0;
  std::int64_t rank = 0, world = 1;
  Tail tail = Tail::kDrop;
  SlotAllocator allocator = {};  ///< empty: plain memory
  StageObserver observer = {};   ///< for a timeline; empty: nobody listens
  /// Throws Error(kUsage).
  void validate() const;
};

/// The position of a run; valid at any other world size. Counts the batches handed out by next().
struct LoaderState {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t done = 0;  ///< samples of this epoch delivered, over all ranks
};

/// How long something took that happened `count` times; zeros when it has not.
struct Latencies {
  std::uint64_t count = 0;
  std::uint64_t sum_ns = 0;
  std::uint64_t p50_ns = 0, p99_ns = 0;  ///< up to 13 % above the true value
  std::uint64_t max_ns = 0;
};

/// Totals since construction; nanoseconds are summed over threads.
struct LoaderCounters {
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;             ///< stored bytes read
  std::uint64_t read_ns = 0;           ///< in Dataset::read
  std::uint64_t decode_ns = 0;         ///< making pixels of it, and placing its objects
  std::uint64_t slot_wait_ns = 0;      ///< workers waiting for the consumer to give a slot back
  std::uint64_t consumer_wait_ns = 0;  ///< next() waiting for a batch
  std::uint64_t batches = 0;
  std::uint64_t ready_batches_sum = 0;  ///< ready batches found at each next(), summed: queue depth
  std::uint64_t bad_samples = 0;        ///< samples that were replaced or left out
  std::uint64_t prefetched_bytes = 0;   ///< asked for ahead; 0 where all was in memory
  Latencies batch_wait;                 ///< next() waiting, batch by batch
  Latencies batch_make;                 ///< from a batch's first sample begun to its last complete
};

class Loader;

/// The place of a view in a slot: its images stand there one after the other.
struct ViewPlace {
  ImageSize size;
  std::size_t offset = 0, image_bytes = 0;
};

/// A lease on a slot: the pixels are valid until it is destroyed, which gives the slot back (any
/// thread). Must not outlive the Loader. Move-only.
class Batch {
 public:
  Batch(Batch&& other) noexcept;
  Batch& operator=(Batch&& other) noexcept;
  ~Batch();

  std::int64_t size() const { return size_; }
  /// The samples of each image: 1, and those of LoaderOptions::more_views.
  std::size_t views() const { return views_.size(); }
  /// Of each sample of a view, which must be less than views(), in pixels.
  int height(std::size_t view = 0) const { return views_[view].size.height; }
  int width(std::size_t view = 0) const { return views_[view].size.width; }
  int channels() const { return channels_; }  ///< 3, or as many as LoaderOptions::bands gives
  /// [size, height, width, channels], or as LoaderOptions::format says: then, the bytes of these
  /// numbers. Empty where there is no such view, and once the batch has been moved from.
  std::span<std::uint8_t> images(std::size_t view = 0) const {
    if (view >= views_.size()) return {};
    return {slot_images_ + views_[view].offset,
            static_cast<std::size_t>(size_) * views_[view].image_bytes};
  }
  /// images() where LoaderOptions::format says float32; T = std::uint16_t for uint16, and for the
  /// bits of float16.
  template <class T = float>
  std::span<T> images_as(std::size_t view = 0) const {
    const std::span<std::uint8_t> bytes = images(view);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  std::span<const std::int64_t> labels() const { return labels_; }  ///< [size]
  /// Dataset sample numbers; kLeftOut where BadSamplePolicy::kLeaveOut left zeros.
  std::span<const std::uint64_t> samples() const { return samples_; }
  /// The objects in the images, where LoaderOptions::targets asks for them, otherwise none.
  const BatchTargets& targets() const { return *targets_; }
  /// Takes them out of the slot, without a copy: targets() is empty then.
  BatchTargets take_targets();
  /// The labels after mixing, where LoaderOptions::mix asks for it, otherwise empty; labels() are
  /// the samples' own. It may be moved out.
  MixedLabels& mixed() const { return *mixed_; }
  /// LoaderOptions::fields, in their order. They have room for a whole batch; a short one uses the
  /// first places.
  const std::vector<BatchField>& fields() const { return *fields_; }
  /// Takes them out of the slot, which gets other memory. Call it once. Throws std::bad_alloc.
  std::vector<BatchField> take_fields();
  /// One per place, where LoaderOptions::encoded_share asks for it, otherwise empty. Where `bytes`
  /// is not 0, that place of images() begins with `bytes` bytes of a JPEG, and what follows them
  /// means nothing.
  std::span<const EncodedSample> encoded() const { return encoded_; }
  std::uint64_t step() const { return step_; }
  /// Takes the pixels out of the slot, which gets other memory: images() then stays valid as long
  /// as the pointer is owned, also after the batch and the Loader. Keeping many batches costs only
  /// memory, while leased batches would stop the loader. Call it once. Throws std::bad_alloc.
  std::shared_ptr<std::uint8_t> keep_images();

 private:
  friend class Loader;
  Batch() = default;
  Loader* loader_ = nullptr;
  std::size_t slot_ = 0;
  std::uint64_t step_ = 0;
  std::int64_t size_ = 0;
  std::uint8_t* slot_images_ = nullptr;
  std::span<const ViewPlace> views_;  ///< the loader's
  std::span<const std::int64_t> labels_;
  std::span<const std::uint64_t> samples_;
  std::span<const EncodedSample> encoded_;
  int channels_ = 3;
  BatchTargets* targets_ = nullptr;
  MixedLabels* mixed_ = nullptr;
  std::vector<BatchField>* fields_ = nullptr;
};

/// Worker threads take tickets (positions of the epoch's order) and decode straight into the slot
/// that the ticket belongs to. So batches come in order, all threads work on the batch that is
/// needed next, and the ring of slots bounds memory. An error in a worker ends the epoch: next()
/// throws it, with the sample named, as soon as it has happened, and again until start_epoch().
/// Samples that are damaged or cannot be decoded can be replaced or left out instead; missing,
/// truncated or unreadable files never are. With kLeaveOut, a sample made of several images is not
/// left out if only another image is bad.
///
/// One thread, the consumer, calls everything except counters(), sampling_report() and
/// bad_samples(), which are thread-safe, as is giving batches back. A stop of the thread that makes
/// it (base/stop.h) fails the epoch. The destructor stops and joins; batches still leased must be
/// gone by then.
class Loader {
 public:
  Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Begins epoch `epoch` at its start, or after `done` of its samples. Drops what was prepared
  /// before; batches still leased stay valid, and their slots are reused when they come back.
  /// Throws Error(kUsage) for an epoch without a batch: Tail::kDrop, and fewer samples than one
  /// batch takes.
  void start_epoch(std::uint64_t epoch, std::uint64_t done = 0);
  /// The next batch, or nothing at the end of the epoch. Waits while all slots are leased. Throws
  /// Error, kUsage before the first start_epoch().
  std::optional<Batch> next();
  /// Waits until next() would not wait for a worker, but at most `most`: for consumers that must
  /// also handle signals, for example. Returns whether next() would not wait.
  bool wait(std::chrono::nanoseconds most);

  /// Other weights of the classes, samples or members, from the next start_epoch() on. Throws
  /// Error(kUsage) where these have none, and as the constructor does.
  void set_weights(Sampling::Weights weights);

  /// Number of steps of the current epoch, from where it was started.
  std::uint64_t steps() const;
  /// Number of steps of any epoch, from its start or after `done` of its samples. Throws
  /// Error(kUsage) for more than there are. Thread-safe, except beside set_weights().
  std::uint64_t steps_of_epoch(std::uint64_t done = 0) const;
  LoaderState state() const;
  LoaderCounters counters() const;
  /// The same for the same sampling with the same weights; empty where each sample comes once an
  /// epoch. A state of the middle of an epoch goes on only where it is the same.
  std::string sampling_id() const;
  /// Any thread.
  SamplingReport sampling_report() const;
  /// With weights of members: how many of the first `done` samples of this epoch, over all ranks,
  /// are of each, repeats not counted. Otherwise nothing.
  std::vector<std::uint64_t> members_done(std::uint64_t done) const;
  /// How well the current epoch is mixed, estimated from some of its batches.
  ShuffleQuality shuffle_quality() const;
  /// The samples that were replaced or left out, in no order; the first BadSampleLog::kMostNamed.
  std::vector<BadSample> bad_samples() const;
  int workers() const;

 private:
  friend class Batch;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace packhorse::reader
