#include "measure/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/option.h"
#include "codecs/image_header.h"
#include "measure/passes.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/dataset.h"
#include "tasks/task.h"

namespace packhorse::trainer {
namespace {

constexpr std::size_t kLooks = 32;

/// Width and height, the smaller first, so that turned pictures have the same; 0 when unknown.
std::pair<std::uint32_t, std::uint32_t> sides_of(const reader::Dataset& dataset, std::size_t i) {
  std::vector<std::byte> scratch;
  ImageInfo info = dataset.image(i);
  if (info.kind == ImageKind::kUnknown) {
    const BytesLease file = dataset.view(i, scratch);
    info = probe_image(file.bytes, ImageLimits().of_packed()).info.value_or(ImageInfo{});
  }
  return std::minmax(info.width, info.height);
}

/// Refuses a packed dataset that holds other pictures than the folder, as far as some samples tell:
/// speeds on smaller pictures would be called what packing gains. `path` is the packed one's.
/// Throws Error(kUsage).
void check_same_pictures(const reader::Dataset& folder, const reader::Dataset& packed,
                         const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::kUsage, "this does not hold the folder's images: " + what, path,
                "pack the folder given with `folder=`, and measure that");
  };
  std::unordered_map<std::string, std::size_t> samples;
  for (std::size_t i = 0; i < folder.size(); ++i) samples.emplace(folder.source_path(i), i);
  const std::string mode = packed.image_mode();
  const std::size_t looks = std::min(kLooks, packed.size());
  std::vector<std::byte> stored, file;
  for (std::size_t look = 0; look < looks; ++look) {
    const std::size_t i = look * packed.size() / looks;
    const std::string name = packed.source_path(i);
    if (name.empty()) continue;  // of shards that were adopted, which may say no paths
    const auto found = samples.find(name);
    if (found == samples.end() || folder.label(found->second) != packed.label(i))
      refuse(fmt::format("it has '{}', and the folder has no such image of that class", name));
    if (mode == "original") {
      packed.read(i, stored);
      folder.read(found->second, file);
      if (stored != file) refuse(fmt::format("its '{}' has other bytes", name));
    } else if (mode == "roi" || mode == "lossless") {
      if (sides_of(packed, i) != sides_of(folder, found->second))
        refuse(fmt::format("its '{}' has another size", name));
    }
  }
}

namespace fs = std::filesystem;
using DatasetPtr = std::shared_ptr<const reader::Dataset>;

class Measuring {
 public:
  Measuring(const MeasureOptions& options, const std::function<void(const std::string&)>& note,
            std::stop_token stop)
      : options_(options), note_(note), passes_(options, report_.recipe, std::move(stop)) {}

  SpeedReport run() {
    open_inputs();
    report_.device = device_text(options_);
    report_.conditions.emplace_back();
    if (options_.cold) report_.conditions.push_back(Condition::cold());
    for (const reader::StorageModel& storage : options_.storages)
      report_.conditions.push_back({Condition::Kind::kSimulated, storage});
    if (std::ranges::any_of(report_.inputs, &MeasuredInput::from_afar))
      report_.conditions.push_back({.kind = Condition::Kind::kRemote});
    for (std::size_t condition = 0; condition < report_.conditions.size(); ++condition) {
      const bool remote = report_.conditions[condition].kind == Condition::Kind::kRemote;
      for (std::size_t input = 0; input < datasets_.size(); ++input)
        report_.runs.push_back(run_of(input, condition, remote));
    }
    const auto classes = passes_.classes(*datasets_.front());
    for (int repeat = 0; repeat < options_.repeats; ++repeat) {
      note(repeat, "what the device can take");
      report_.device_limit.push_back(passes_.synthetic(classes));
      for (MeasuredRun& run : report_.runs) {
        if (!run.applies) continue;
        note(repeat, fmt::format("{}, {}", report_.inputs[run.input].name,
                                 report_.conditions[run.condition].name()));
        if (run.not_measured.empty()) make_passes(run);
      }
    }
    report_.workers = passes_.workers();
    report_.device_memory_bytes = peak_memory(options_.device).reserved;
    return report_;
  }

 private:
  /// Nothing of it is measured where the condition is not one of the input's.
  MeasuredRun run_of(std::size_t input, std::size_t condition, bool remote) const {
    MeasuredRun run{.input = input, .condition = condition};
    run.applies = report_.inputs[input].from_afar == remote;
    if (!run.applies) run.not_measured = remote ? "it lies here" : "it lies at a URL";
    return run;
  }

  void note(int repeat, const std::string& what) const {
    if (note_) note_(fmt::format("repeat {} of {}: {}", repeat + 1, options_.repeats, what));
  }

  void open_inputs() {
    add_input(options_.folder);
    for (const fs::path& path : options_.packed) add_input(path);
    report_.recipe = recipe_for(options_, *datasets_.front());
  }

  void add_input(const fs::path& path) {
    const DatasetPtr dataset = reader::Dataset::open(path, options_.split);
    if (dataset->size() == 0) throw Error(ErrorKind::kUsage, "there is nothing to measure", path);
    const auto task = make_task(recipe_for(options_));
    const std::vector<std::string>& classes = task->classes(*dataset);
    if (!datasets_.empty() && (classes != task->classes(*datasets_.front()) ||
                               dataset->size() != datasets_.front()->size())) {
      throw Error(
          ErrorKind::kUsage,
          "this does not hold the folder's images: its classes or its number of images differ",
          path, "pack the folder given with `folder=`, and measure that");
    }
    if (!datasets_.empty()) check_same_pictures(*datasets_.front(), *dataset, path);
    datasets_.push_back(dataset);
    if (dataset->from_afar()) report_.remote_order = passes_.order(*dataset);
    MeasuredInput input = describe_input(path, *dataset);
    input.name = input_name(*dataset);
    const auto alike = std::ranges::count_if(report_.inputs, [&](const MeasuredInput& before) {
      return before.format == input.format && before.image_mode == input.image_mode &&
             before.from_afar == input.from_afar;
    });
    if (alike > 0) input.name += fmt::format(" {}", alike + 1);
    report_.inputs.push_back(input);
  }

  void make_passes(MeasuredRun& run) {
    const DatasetPtr& dataset = datasets_[run.input];
    const Condition& condition = report_.conditions[run.condition];
    try {
      run.read.push_back(passes_.load(dataset, condition, reader::Work::kRead));
      run.decode.push_back(passes_.load(dataset, condition, reader::Work::kDecode));
      run.training.push_back(passes_.train(dataset, condition));
    } catch (const Error& error) {
      // The files cannot be made cold. Any other kUnsupported fails warm as well.
      if (error.kind() != ErrorKind::kUnsupported || condition.kind != Condition::Kind::kCold)
        throw;
      run = {.input = run.input, .condition = run.condition, .not_measured = spelled(error.what())};
    }
  }

  const MeasureOptions& options_;
  const std::function<void(const std::string&)>& note_;
  SpeedReport report_;
  Passes passes_;
  std::vector<DatasetPtr> datasets_;
};

}  // namespace

Condition Condition::cold() {
  return {.kind = Kind::kCold, .names_dropped = reader::can_drop_names()};
}

std::string Condition::name() const {
  switch (kind) {
    case Kind::kWarm:
      return "warm";
    case Kind::kCold:
      return "cold";
    case Kind::kRemote:
      return "remote";
    case Kind::kSimulated:
      break;
  }
  return storage.name;
}

void MeasureOptions::validate() const {
  const auto refuse = [](const std::string& what) { throw Error(ErrorKind::kUsage, what); };
  if (repeats < 1) refuse("there must be at least one repeat");
  if (warmup_steps < 1) refuse("there must be at least one warm-up step");
  if (steps < 0) refuse("the number of steps must be 0 or more");
  if (max_seconds <= 0) refuse("a pass must be longer than 0 seconds");
  if (simulated_device < 0) refuse("the rate of a simulated device must be 0 images/s or more");
  if (gpu_decode && !device.is_cuda()) refuse("there is no GPU to decode on");
  if (cuda_graph && !device.is_cuda()) refuse("a CUDA graph needs a GPU");
}

SpeedReport measure(const MeasureOptions& options,
                    const std::function<void(const std::string&)>& note, std::stop_token stop) {
  options.validate();
  return Measuring(options, note, std::move(stop)).run();
}

}  // namespace packhorse::trainer
