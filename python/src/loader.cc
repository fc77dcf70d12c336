#include "packhorse/reader/loader.h"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <mutex>

#include "base/resources.h"
#include "batch_values.h"
#include "bindings.h"
#include "loader/loader_table.h"
#include "option_values.h"
#include "others_run.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/autotune.h"
#include "packhorse/reader/targets.h"
#include "packhorse/version.h"
#include "remote_opener.h"
#include "sample_hook.h"
#include "watched_call.h"

namespace packhorse::python {

using namespace nb::literals;
using reader::Batch, reader::Dataset, reader::Loader, reader::LoaderOptions, reader::Tail;

namespace {

/// How long Ctrl-C may take.
constexpr std::chrono::milliseconds kBetweenSignals(50);

nb::dlpack::dtype type_of(reader::PixelType type) {
  using Code = nb::dlpack::dtype_code;
  const bool integer = type == reader::PixelType::kUint8 || type == reader::PixelType::kUint16;
  const Code code = integer ? Code::UInt : Code::Float;
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * size_of(type)), 1};
}

/// Images, labels int64 [batch], samples uint64 [batch], the samples done after the batch, and what
/// else it has: perhaps nothing. Images and labels are arrays, the images as they lie in memory, or
/// capsules of DLPack with images [batch, channels, height, width] in either layout. Of several
/// views, there is a list of images.
using Delivered = std::tuple<nb::object, nb::object, nb::ndarray<nb::numpy, std::uint64_t>,
                             std::uint64_t, std::optional<nb::dict>>;

/// Key points of an object, as the dataset says.
std::size_t keypoints_of(const Dataset& dataset) {
  for (const TargetRecord& target : dataset.targets()) {
    if (target.kind == kObjectsTarget) return target.keypoints.size();
  }
  return 0;
}

/// Least side, least visible share, and whether masks become run lengths.
using Rules = std::tuple<double, double, bool>;

/// What has weights ("classes", "samples" or "members"), and these, unless they are the usual ones.
using WeightArray = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weighted = std::tuple<std::string, std::optional<WeightArray>>;

reader::Sampling::Weights weights_of(const WeightArray& weights) {
  return std::make_shared<std::vector<double>>(weights.data(), weights.data() + weights.size());
}

void weigh(reader::Sampling& sampling, const Weighted& weighted) {
  using By = reader::Sampling::By;
  const auto& [what, weights] = weighted;
  sampling.by = what == "classes" ? By::kClasses : what == "samples" ? By::kSamples : By::kMembers;
  if (weights) sampling.weights = weights_of(*weights);
}

reader::TargetRules rules_of(const Rules& rules) {
  const auto [min_side, min_visible, run_lengths] = rules;
  using Masks = reader::TargetRules::Masks;
  return {min_side, min_visible, run_lengths ? Masks::kRunLengths : Masks::kAsStored};
}

/// A loader until it is stopped, of which one thread at a time does something.
struct OwnedLoader {
  const ::pid_t process = ::getpid();
  std::mutex mutex;
  std::shared_ptr<PythonHook> hook;
  std::unique_ptr<Loader> loader;
};

/// Those of this process.
class AllLoaders {
 public:
  static AllLoaders& here() {
    static AllLoaders all;
    return all;
  }
  void add(const std::shared_ptr<OwnedLoader>& loader) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(loaders_, [](const auto& one) { return one.expired(); });
    loaders_.push_back(loader);
  }
  std::vector<std::weak_ptr<OwnedLoader>> get() {
    const std::scoped_lock lock(mutex_);
    return loaders_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<OwnedLoader>> loaders_;
};

/// The Loader, for the process that made it: after fork() its threads are gone.
class ProcessLoader {
 public:
  ProcessLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options,
                std::shared_ptr<PythonHook> hook)
      : format_(options.format),
        has_targets_(options.targets.has_value()),
        has_fields_(!options.fields.empty()),
        order_(reader::name_of(options.order)),
        keypoints_(keypoints_of(*dataset)),
        reads_in_next_(options.workers == 0 && dataset->from_afar()),
        owned_(std::make_shared<OwnedLoader>()) {
    if (hook) {
      options.sample_hook = [hook](const reader::DecodedSample& sample) { hook->call(sample); };
      owned_->hook = std::move(hook);
    }
    dataset_ = dataset;
    options_ = options;
    owned_->loader = call_that_may_wait(
        true, [&] { return std::make_unique<Loader>(std::move(dataset), std::move(options)); });
    AllLoaders::here().add(owned_);
  }

  /// The options that tune() chose, by their names, and its reasons.
  std::tuple<nb::dict, std::vector<std::string>> tune(double seconds) const {
    static_cast<void>(here());
    const reader::Tuned tuned =
        call_that_may_wait(true, [&] { return reader::tune(dataset_, options_, seconds); });
    nb::dict made;
    made["workers"] = tuned.workers;
    made["slots"] = tuned.slots;
    made["order"] = reader::name_of(tuned.order);
    return {made, tuned.reasons};
  }

  /// In a forked child nothing can join the threads, and their locks may be held for ever.
  ~ProcessLoader() {
    if (::getpid() != owned_->process) {
      static_cast<void>(owned_->loader.release());
      return;
    }
    const OthersRun others_run;  // a worker may wait for a storage
    owned_.reset();
  }

  Loader& here() const {
    if (::getpid() != owned_->process)
      throw Error(ErrorKind::kUsage,
                  "this Loader was made before a fork, and its threads are not in "
                  "this process",
                  {}, "make the Loader in the process that reads from it");
    return wherever();
  }

  void start_epoch(std::uint64_t epoch, std::uint64_t done) {
    alone([&](Loader& loader) {
      loader.start_epoch(epoch, done);
      return true;
    });
  }

  std::optional<Delivered> next(bool capsules) {
    std::optional<Batch> batch = next_batch();
    if (!batch) return std::nullopt;
    return Delivered(images(*batch, capsules), labels(*batch, capsules),
                     to_numpy<std::uint64_t>({batch->samples().begin(), batch->samples().end()},
                                             {batch->samples().size()}),
                     here().state().done, more(*batch));
  }

  void set_weights(const WeightArray& weights) {
    alone([made = weights_of(weights)](Loader& loader) {
      loader.set_weights(made);
      return true;
    });
  }

  const std::string& order() const { return order_; }

  bool is_ready() const { return here().wait(std::chrono::nanoseconds(0)); }

  /// Batches in an epoch, after `done` of its samples.
  std::uint64_t steps(std::uint64_t done) const { return wherever().steps_of_epoch(done); }

 private:
  /// Also in a child of the process that made it, where its threads are not.
  Loader& wherever() const {
    if (!owned_->loader) {
      const OthersRun others_run;  // where a daemon thread stays, and says nothing
    }
    return running();
  }

  Loader& running() const {
    if (owned_->loader) return *owned_->loader;
    throw Error(ErrorKind::kUsage, "this Loader was stopped: the interpreter is about to end");
  }

  /// What a batch has besides its images and labels.
  std::optional<nb::dict> more(Batch& batch) const {
    const auto size = static_cast<std::size_t>(batch.size());
    const bool mixed = !batch.mixed().targets.empty();
    if (!has_targets_ && !has_fields_ && !mixed) return std::nullopt;
    nb::dict made;
    if (has_targets_) made["targets"] = target_arrays(batch.take_targets(), keypoints_);
    if (has_fields_) made["fields"] = field_values(batch.take_fields(), size);
    if (mixed) made["mixed"] = mixed_labels(batch.mixed(), size);
    return made;
  }

  static nb::object labels(const Batch& batch, bool capsule) {
    const auto values = batch.labels();
    const auto made = to_numpy<std::int64_t>({values.begin(), values.end()}, {values.size()});
    return capsule ? nb::cast(nb::ndarray<>(made)) : nb::cast(made);
  }

  /// The batch's images, which own its memory.
  nb::object images(Batch& batch, bool capsule) const {
    const std::shared_ptr<std::uint8_t> memory = batch.keep_images();
    if (batch.views() == 1) return images_of(batch, 0, memory, capsule);
    nb::list views;
    for (std::size_t view = 0; view < batch.views(); ++view)
      views.append(images_of(batch, view, memory, capsule));
    return views;
  }

  nb::object images_of(const Batch& batch, std::size_t view,
                       const std::shared_ptr<std::uint8_t>& owner, bool capsule) const {
    const auto size = static_cast<std::size_t>(batch.size());
    const bool planes = format_.layout == reader::PixelLayout::kPlanes;
    const auto height = static_cast<std::size_t>(batch.height(view));
    const auto width = static_cast<std::size_t>(batch.width(view));
    const auto channels = static_cast<std::size_t>(batch.channels());
    void* const memory = batch.images(view).data();
    if (capsule && !planes) {
      const auto step = static_cast<std::int64_t>(width * channels);
      const std::size_t shape[] = {size, channels, height, width};
      const std::int64_t strides[] = {step * batch.height(view), 1, step, batch.channels()};
      return nb::cast(
          nb::ndarray<>(array_over(memory, shape, type_of(format_.type), owner, strides)));
    }
    const std::size_t shape[] = {size, planes ? channels : height, planes ? height : width,
                                 planes ? width : channels};
    const nb::ndarray<nb::numpy> made = array_over(memory, shape, type_of(format_.type), owner);
    return capsule ? nb::cast(nb::ndarray<>(made)) : nb::cast(made);
  }

  std::optional<Batch> next_batch() const {
    std::optional<Batch> batch;
    const auto take = [&](Loader& loader) {
      if (!loader.wait(kBetweenSignals)) return false;
      batch = loader.next();
      return true;
    };
    while (!alone(take))
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return batch;
  }

  /// Does something while other threads of Python run, but none with this loader.
  template <class Work>
  std::invoke_result_t<const Work&, Loader&> alone(const Work& work) const {
    static_cast<void>(here());  // before its locks are looked at
    return call_that_may_wait(reads_in_next_, [&] {
      const std::scoped_lock lock(owned_->mutex);
      return work(running());
    });
  }

  std::shared_ptr<const Dataset> dataset_;  ///< these two for tune()
  LoaderOptions options_;
  const reader::PixelFormat format_;
  const bool has_targets_, has_fields_;
  const std::string order_;
  const std::size_t keypoints_;
  const bool reads_in_next_;  ///< of a storage
  std::shared_ptr<OwnedLoader> owned_;
};

nb::dict latencies(const reader::Latencies& of) {
  nb::dict made;
  made["count"] = of.count;
  made["p50_s"] = static_cast<double>(of.p50_ns) / 1e9;
  made["p99_s"] = static_cast<double>(of.p99_ns) / 1e9;
  return made;
}

nb::dict counters(const ProcessLoader& self) {
  const reader::LoaderCounters all = self.here().counters();
  nb::dict made;
  made["samples"] = all.samples;
  made["batches"] = all.batches;
  made["bytes"] = all.bytes;
  made["bad_samples"] = all.bad_samples;
  made["read_s"] = static_cast<double>(all.read_ns) / 1e9;
  made["decode_s"] = static_cast<double>(all.decode_ns) / 1e9;
  made["workers_wait_s"] = static_cast<double>(all.slot_wait_ns) / 1e9;
  made["consumer_wait_s"] = static_cast<double>(all.consumer_wait_ns) / 1e9;
  made["ready_batches"] = all.batches == 0 ? 0.0
                                           : static_cast<double>(all.ready_batches_sum) /
                                                 static_cast<double>(all.batches);
  made["workers"] = self.here().workers();
  const reader::SamplingReport sampling = self.here().sampling_report();
  made["replacement"] = sampling.replacement;
  made["distinct_samples"] = sampling.distinct;
  made["batch_wait"] = latencies(all.batch_wait);
  made["batch_make"] = latencies(all.batch_make);
  return made;
}

nb::list bad_samples(const ProcessLoader& self) {
  nb::list made;
  for (const reader::BadSample& bad : self.here().bad_samples()) {
    nb::dict one;
    one["epoch"] = bad.epoch;
    one["sample"] = bad.sample;
    one["by"] = bad.by;
    one["what"] = bad.what;
    made.append(one);
  }
  return made;
}

}  // namespace

void stop_loaders() {
  for (const std::weak_ptr<OwnedLoader>& one : AllLoaders::here().get()) {
    const std::shared_ptr<OwnedLoader> owned = one.lock();
    if (!owned || owned->process != ::getpid()) continue;
    if (owned->hook && owned->hook->busy()) {  // in a call that perhaps never ends
      static_cast<void>(owned->loader.release());
      continue;
    }
    const OthersRun others_run;
    const std::scoped_lock lock(owned->mutex);
    owned->loader.reset();
  }
}

void bind_loader(nb::module_& module) {
  module.def(
      "options", [] { return described(reader::loader_options()); },
      "The options of a Loader: what scripts/options makes");
  nb::class_<ProcessLoader>(module, "Loader")
      .def(
          "__init__",
          [](ProcessLoader* self, std::shared_ptr<Dataset> dataset,
             std::vector<std::tuple<reader::Augment, reader::PixelSteps>> views,
             const nb::dict& given,
             const std::optional<std::tuple<nb::object, nb::object>>& pinning,
             const std::optional<Rules>& targets, const nb::object& hook,
             const std::optional<Weighted>& weights) {
            LoaderOptions options;
            std::tie(options.augment, options.pixels) = std::move(views.at(0));
            for (auto view = views.begin() + 1; view != views.end(); ++view)
              options.more_views.push_back(
                  {std::move(std::get<0>(*view)), std::move(std::get<1>(*view))});
            options.tail = Tail::kKeep;
            if (targets) options.targets = rules_of(*targets);
            const GivenOptions known = values_by_name(given, reader::loader_options());
            set_given(options, reader::loader_options(), known);
            if (weights) weigh(options.sampling, *weights);
            if (!known.contains("order") && !known.contains("shuffle"))
              options.order = reader::usual_order(*dataset, options.sampling);
            if (options.tail == Tail::kKeep && options.world > 1) options.tail = Tail::kPad;
            if (pinning)
              options.allocator = pinned_allocator(std::get<0>(*pinning), std::get<1>(*pinning));
            new (self) ProcessLoader(std::move(dataset), std::move(options),
                                     hook.is_none() ? nullptr : std::make_shared<PythonHook>(hook));
          },
          "dataset"_a, nb::kw_only(), "views"_a, "given"_a, "pinning"_a.none(), "targets"_a.none(),
          "hook"_a.none(), "weights"_a.none())
      .def("set_weights", &ProcessLoader::set_weights, "weights"_a)
      .def("sampling_id", [](const ProcessLoader& self) { return self.here().sampling_id(); })
      .def("members_done", [](const ProcessLoader& self,
                              std::uint64_t done) { return self.here().members_done(done); })
      .def("start_epoch", &ProcessLoader::start_epoch, "epoch"_a, "done"_a = 0)
      .def("next", &ProcessLoader::next, "capsules"_a,
           "The next batch, or None at the end of the epoch")
      .def("steps", &ProcessLoader::steps, "done"_a = 0)
      .def(
          "check", [](const ProcessLoader& self) { self.here(); },
          "Raises where it cannot be used: in a child of its process, and at the end")
      .def("is_ready", &ProcessLoader::is_ready, "Whether next() would not wait")
      .def_prop_ro("order", &ProcessLoader::order, "Its name: the usual one where none was given")
      .def("tune", &ProcessLoader::tune, "seconds"_a)
      .def("counters", &counters)
      .def("bad_samples", &bad_samples);
}

}  // namespace packhorse::python

NB_MODULE(_reader, module) {
  nanobind::set_leak_warnings(false);  // what lives at the interpreter's exit is no leak
  module.def("version", &packhorse::version);
  module.def("available_cpus", &packhorse::available_cpus);
  packhorse::python::translate_errors();
  packhorse::python::bind_augment(module);
  packhorse::python::bind_detection(module);
  packhorse::python::bind_targets(module);
  packhorse::python::bind_dataset(module);
  packhorse::python::bind_loader(module);
  packhorse::python::bind_remote_opener(module);
  packhorse::python::OthersRun::rest_at_exit(module, packhorse::python::stop_loaders);
}
