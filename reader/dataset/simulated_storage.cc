#include "dataset/simulated_storage.h"

#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <thread>

#include "base/text.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"

namespace packhorse::reader {

namespace {

using Clock = SimulatedStorage::Clock;

// Round figures for each kind of device, not for a product.
// hdd: 7200 turns a minute: half a turn 4.2 ms, a mean seek near 8 ms, 180 MB/s in the middle of
//   the disk; NCQ's queue hides no seek of a single stream of readers. Finding a file reads its
//   inode: another seek.
// sata-ssd: SATA's 6 Gbit/s leave 550 MB/s; about 10,000 reads a second one at a time, 32 at once.
// nfs: a server with SSDs behind 10 Gbit/s Ethernet that others use too: 0.5 ms a round trip, of
//   which opening takes three (LOOKUP, OPEN, GETATTR) and its CLOSE is not waited for.
// nvme: PCIe 3.0 x4: 3.2 GB/s, 80 us.
constexpr double kMs = 1e-3;
const std::array<StorageModel, 4> kPresets = {{
    {"hdd", 12 * kMs, 12 * kMs, 180e6, 1, "a 7200 rpm hard disk"},
    {"sata-ssd", 0.1 * kMs, 0.1 * kMs, 530e6, 32, "a SATA solid-state drive"},
    {"nfs", 1.5 * kMs, 0.5 * kMs, 1.1e9, 64, "NFS over a shared 10 Gbit/s network"},
    {"nvme", 0.08 * kMs, 0.08 * kMs, 3.2e9, 128, "an NVMe solid-state drive on PCIe 3.0 x4"},
}};

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array kTimes = {Unit{"us", 1e-6}, Unit{"ms", kMs}, Unit{"s", 1}};
constexpr std::array kSizes = {Unit{"kB", 1e3}, Unit{"MB", 1e6}, Unit{"GB", 1e9}, Unit{"B", 1}};

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  std::string presets;
  for (const StorageModel& preset : kPresets)
    presets += (presets.empty() ? "" : ", ") + preset.name;
  throw Error(
      ErrorKind::kUsage, "'" + text + "' is not a valid storage: " + why, {},
      "give one of " + presets + ", or delays such as open=5ms,access=0.1ms,rate=100MB,depth=4");
}

double parse_quantity(const std::string& text, std::string_view value,
                      std::span<const Unit> units) {
  double number = 0;
  const char* const end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, number);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (error == std::errc() && number >= 0 && std::isfinite(number)) {
    if (unit.empty() && number == 0) return 0;
    for (const Unit& known : units)
      if (unit == known.name) return number * known.factor;
  }
  std::string names;
  for (const Unit& known : units) (names += names.empty() ? "" : ", ") += known.name;
  refuse(text, "'" + std::string(value) + "' is not a number with one of the units " + names);
}

void put_part(const std::string& text, std::string_view part, StorageModel& model) {
  const std::size_t equals = part.find('=');
  const std::string_view name = part.substr(0, equals);
  if (equals == std::string_view::npos)
    refuse(text, "'" + std::string(name) + "' is neither a preset nor a delay");
  const std::string_view value = part.substr(equals + 1);
  if (name == "open") {
    model.open_s = parse_quantity(text, value, kTimes);
  } else if (name == "access") {
    model.access_s = parse_quantity(text, value, kTimes);
  } else if (name == "rate") {
    model.bytes_per_s = parse_quantity(text, value, kSizes);
  } else if (name == "depth") {
    model.depth = parse_number<int>(value).value_or(-1);
    if (model.depth < 0) refuse(text, "depth must be a number of requests, or 0 for no limit");
  } else {
    refuse(text, "'" + std::string(name) + "' is not open, access, rate or depth");
  }
}

Clock::duration seconds(double s) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}

/// A dataset that answers when the storage would have answered.
class Delayed final : public Dataset {
 public:
  Delayed(std::shared_ptr<const Dataset> dataset, std::shared_ptr<SimulatedStorage> storage)
      : dataset_(std::move(dataset)),
        storage_(std::move(storage)),
        gap_(joined_gap(storage_->model())),
        files_apart_(dataset_->one_file_a_sample()),
        arrival_(dataset_->size()),
        opened_(files_apart_ ? 0 : std::max<std::size_t>(1, dataset_->files().size())) {}

  std::string id() const override { return dataset_->id(); }
  std::size_t size() const override { return dataset_->size(); }
  const std::vector<std::string>& classes() const override { return dataset_->classes(); }
  std::int64_t label(std::size_t i) const override { return dataset_->label(i); }
  std::uint64_t bytes(std::size_t i) const override { return dataset_->bytes(i); }
  ImageInfo image(std::size_t i) const override { return dataset_->image(i); }
  void read(std::size_t i, std::vector<std::byte>& out) const override {
    arrive(i);
    dataset_->read(i, out);
  }
  BytesLease view(std::size_t i, std::vector<std::byte>& scratch) const override {
    arrive(i);
    return dataset_->view(i, scratch);
  }
  const std::vector<std::string>& fields() const override { return dataset_->fields(); }
  const std::vector<TargetRecord>& targets() const override { return dataset_->targets(); }
  /// Without a delay: it lies beside the image, which has been waited for.
  bool read_field(std::size_t i, std::size_t field, std::vector<std::byte>& out) const override {
    return dataset_->read_field(i, field, out);
  }
  void check_whole(std::size_t i) const override { dataset_->check_whole(i); }
  std::vector<Extent> extents() const override { return dataset_->extents(); }
  bool from_afar() const override { return dataset_->from_afar(); }
  std::uint64_t stored_bytes() const override { return dataset_->stored_bytes(); }
  std::size_t file_of(std::size_t i) const override { return dataset_->file_of(i); }

  std::uint64_t prefetch(std::span<const std::uint64_t> samples) const override {
    if (files_apart_) return 0;
    std::uint64_t asked = 0;
    for (std::size_t begin = 0; begin < samples.size();) {
      const std::size_t end = end_of_run(samples, begin);
      asked += ask(samples.subspan(begin, end - begin));
      begin = end;
    }
    return asked;
  }
  double resident_share() const override {
    if (files_apart_) return 1;  // prefetch() does not help
    return static_cast<double>(arrived_) / static_cast<double>(std::max<std::size_t>(1, size()));
  }
  void release() const override {
    for (std::atomic<Ticks>& at : arrival_) at = kNotAsked;
    for (std::atomic<bool>& opened : opened_) opened = false;
    arrived_ = 0;
    dataset_->release();
  }

  std::string describe(std::size_t i) const override { return dataset_->describe(i); }
  std::vector<std::filesystem::path> files() const override { return dataset_->files(); }
  bool one_file_a_sample() const override { return files_apart_; }
  std::string format() const override { return dataset_->format(); }
  std::string image_mode() const override { return dataset_->image_mode(); }

 private:
  using Ticks = Clock::rep;
  static constexpr Ticks kNotAsked = 0;

  /// Joins samples as PackedDataset::prefetch() does, over gaps that are cheaper to read than to
  /// skip here.
  std::size_t end_of_run(std::span<const std::uint64_t> samples, std::size_t begin) const {
    std::uint64_t bytes = dataset_->bytes(samples[begin]);
    std::size_t end = begin + 1;
    for (; end < samples.size() && bytes < kJoinedBytes; ++end) {
      const std::uint64_t last = samples[end - 1], next = samples[end];
      if (dataset_->file_of(last) != dataset_->file_of(next)) break;
      std::uint64_t gap = 0;
      for (std::uint64_t i = last + 1; i < next && gap <= gap_; ++i) gap += dataset_->bytes(i);
      if (gap > gap_) break;
      bytes += gap + dataset_->bytes(next);
    }
    return end;
  }

  /// Makes one request for samples that lie together. Returns its bytes; 0 where all were requested
  /// before.
  std::uint64_t ask(std::span<const std::uint64_t> run) const {
    std::uint64_t bytes = 0;
    const bool all_asked = std::ranges::all_of(
        run, [&](std::uint64_t sample) { return arrival_[sample] != kNotAsked; });
    if (all_asked) return 0;
    for (std::uint64_t sample = run.front(); sample <= run.back(); ++sample)
      bytes += dataset_->bytes(sample);
    const Ticks at = storage_->request(bytes, opens(run.front())).time_since_epoch().count();
    for (const std::uint64_t sample : run) {
      Ticks before = kNotAsked;
      if (arrival_[sample].compare_exchange_strong(before, at)) ++arrived_;
    }
    return bytes;
  }

  void arrive(std::size_t i) const {
    const std::uint64_t sample = i;
    if (arrival_[i] == kNotAsked) ask({&sample, 1});
    SimulatedStorage::wait_until(Clock::time_point(Clock::duration(arrival_[i].load())));
  }

  bool opens(std::size_t i) const {
    return files_apart_ || !opened_[dataset_->file_of(i)].exchange(true);
  }

  const std::shared_ptr<const Dataset> dataset_;
  const std::shared_ptr<SimulatedStorage> storage_;
  const std::uint64_t gap_;
  const bool files_apart_;
  mutable std::vector<std::atomic<Ticks>> arrival_;  ///< time of arrival of each sample
  mutable std::vector<std::atomic<bool>> opened_;    ///< whether each file was opened
  mutable std::atomic<std::size_t> arrived_ = 0;     ///< samples asked for
};

}  // namespace

std::span<const StorageModel> storage_presets() { return kPresets; }

StorageModel parse_storage(const std::string& text) {
  constexpr double kHour = 3600;
  StorageModel model;
  const std::vector<std::string_view> parts = split_text(text, ',');
  for (const std::string_view& part : parts) {
    const auto preset = std::ranges::find(kPresets, part, &StorageModel::name);
    if (&part == parts.data() && preset != kPresets.end()) {
      model = *preset;
    } else {
      put_part(text, std::string(part), model);
      model.stands_for = {};
    }
  }
  if (std::max(model.open_s, model.access_s) > kHour) refuse(text, "that is more than an hour");
  if (model.bytes_per_s > 0 && model.bytes_per_s < 1)
    refuse(text, "that is less than a byte per second");
  model.name = text;
  return model;
}

std::uint64_t joined_gap(const StorageModel& storage) {
  if (storage.access_s <= 0 || storage.depth <= 0) return 0;
  if (storage.bytes_per_s <= 0) return kJoinedBytes;
  const double bytes = storage.access_s * storage.bytes_per_s / storage.depth;
  return static_cast<std::uint64_t>(std::min<double>(bytes, kJoinedBytes));
}

SimulatedStorage::SimulatedStorage(StorageModel model)
    : model_(std::move(model)), places_(static_cast<std::size_t>(model_.depth)) {}

Clock::time_point SimulatedStorage::request(std::uint64_t bytes, bool opens) {
  return request_at(Clock::now(), bytes, opens);
}

Clock::time_point SimulatedStorage::request_at(Clock::time_point now, std::uint64_t bytes,
                                               bool opens) {
  const std::scoped_lock lock(mutex_);
  ++requests_;
  bytes_ += bytes;
  Clock::time_point begin = now;
  if (!places_.empty()) {
    std::pop_heap(places_.begin(), places_.end(), std::greater<>());
    begin = std::max(begin, places_.back());
  }
  Clock::time_point answered = begin + seconds(model_.access_s + (opens ? model_.open_s : 0));
  if (model_.bytes_per_s > 0) {
    line_free_ =
        std::max(answered, line_free_) + seconds(static_cast<double>(bytes) / model_.bytes_per_s);
    answered = line_free_;
  }
  if (!places_.empty()) {
    places_.back() = answered;
    std::push_heap(places_.begin(), places_.end(), std::greater<>());
  }
  return answered;
}

void SimulatedStorage::wait_until(Clock::time_point answered) {
  if (answered <= Clock::now()) return;
  // By default the kernel may wake a sleeper up to 0.05 ms late, to wake it with others.
  thread_local const int exact = ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  static_cast<void>(exact);
  std::this_thread::sleep_until(answered);
}

std::uint64_t SimulatedStorage::requests() const {
  const std::scoped_lock lock(mutex_);
  return requests_;
}

std::uint64_t SimulatedStorage::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

std::shared_ptr<const Dataset> on_simulated_storage(std::shared_ptr<const Dataset> dataset,
                                                    std::shared_ptr<SimulatedStorage> storage) {
  return std::make_shared<Delayed>(std::move(dataset), std::move(storage));
}

}  // namespace packhorse::reader
