#include "watch/trace.h"

#include <ATen/Context.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/file.h"
#include "base/output_file.h"
#include "base/text.h"
#include "packhorse/base/error.h"

namespace packhorse::trainer {
namespace {

namespace profiler = torch::autograd::profiler;
using Clock = std::chrono::steady_clock;
using nlohmann::json;

/// One stage of a loader thread's work.
struct LoaderEvent {
  reader::Stage stage;
  int thread;
  Clock::time_point begin, end;
};

/// Collects the events of the loader's threads while a trace is under way.
class LoaderEvents {
 public:
  void start() {
    const std::scoped_lock lock(mutex_);
    events_.clear();
    recording_ = true;
  }
  std::vector<LoaderEvent> stop() {
    const std::scoped_lock lock(mutex_);
    recording_ = false;
    return std::move(events_);
  }
  void add(reader::Stage stage, Clock::time_point begin, Clock::time_point end) {
    if (!recording_.load(std::memory_order_relaxed)) return;
    static thread_local const int thread = static_cast<int>(::gettid());
    const std::scoped_lock lock(mutex_);
    if (recording_) events_.push_back({stage, thread, begin, end});
  }

 private:
  std::atomic<bool> recording_{false};
  std::mutex mutex_;
  std::vector<LoaderEvent> events_;
};

std::set<torch::profiler::impl::ActivityType> activities() {
  using torch::profiler::impl::ActivityType;
  std::set<ActivityType> all = {ActivityType::CPU};
  if (at::hasCUDA() && at::getNumGPUs() > 0) all.insert(ActivityType::CUDA);
  return all;
}

/// The Unix time of steady_clock's zero, in nanoseconds: Kineto's times are Unix times.
std::int64_t steady_zero_ns() {
  const auto unix_time = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::nanoseconds(unix_time - Clock::now().time_since_epoch()).count();
}

/// Appends events like Kineto's own: complete events ("X"), times in microseconds after the base
/// time.
void append(json& events, const std::vector<LoaderEvent>& loader, std::int64_t zero_ns) {
  const int process = static_cast<int>(::getpid());
  std::set<int> threads;
  for (const LoaderEvent& event : loader) {
    const std::int64_t begin =
        std::chrono::nanoseconds(event.begin.time_since_epoch()).count() + zero_ns;
    const std::chrono::duration<double, std::micro> duration = event.end - event.begin;
    events.push_back({{"ph", "X"},
                      {"cat", "loader"},
                      {"name", event.stage == reader::Stage::kRead ? "read" : "decode"},
                      {"pid", process},
                      {"tid", event.thread},
                      {"ts", static_cast<double>(begin) * 1e-3},
                      {"dur", duration.count()}});
    threads.insert(event.thread);
  }
  for (const int thread : threads) {
    events.push_back({{"ph", "M"},
                      {"name", "thread_name"},
                      {"pid", process},
                      {"tid", thread},
                      {"ts", 0},
                      {"args", {{"name", fmt::format("loader {}", thread)}}}});
  }
}

}  // namespace

StepSpan StepSpan::parse(const std::string& text) {
  StepSpan span;
  const std::vector<std::string_view> parts = split_text(text, ':');
  const auto first = parse_number<std::int64_t>(parts.front());
  const auto last = parse_number<std::int64_t>(parts.back());
  if (parts.size() == 2) span.begin = first.value_or(-1);
  if (last) span.end = parts.size() == 2 ? *last : span.begin + *last;
  if (!first || !last || parts.size() > 2 || span.begin < 0 || span.end <= span.begin) {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' is not a valid choice of steps to trace", text), {},
                "give a number of steps, e.g. 10, or the first step and the one after the last, "
                "e.g. 20:30");
  }
  return span;
}

struct StepTrace::Impl {
  std::filesystem::path path;
  StepSpan span;
  std::shared_ptr<LoaderEvents> loader = std::make_shared<LoaderEvents>();
  bool running = false;
  std::int64_t zero_ns = 0;

  void start() {
    namespace impl = torch::profiler::impl;
    impl::ExperimentalConfig all_threads;
    all_threads.profile_all_threads = true;
    const impl::ProfilerConfig config(impl::ProfilerState::KINETO, /*report_input_shapes=*/true,
                                      /*profile_memory=*/false, /*with_stack=*/false,
                                      /*with_flops=*/false, /*with_modules=*/false, all_threads);
    profiler::prepareProfiler(config, activities());
    zero_ns = steady_zero_ns();
    loader->start();
    profiler::enableProfiler(config, activities());
    running = true;
  }

  void write() {
    running = false;
    const auto result = profiler::disableProfiler();
    const std::vector<LoaderEvent> events = loader->stop();
    const ScratchDirectory scratch("trace");
    const std::filesystem::path raw = scratch.path() / "raw.json";
    result->save(raw.string());
    json trace = json::parse(read_text(raw), nullptr, /*allow_exceptions=*/false);
    if (!trace.is_object() || !trace.contains("traceEvents")) {
      throw Error(ErrorKind::kIo, "LibTorch's profiler did not write a complete trace", path,
                  "check that there is space on the disk, or trace fewer steps");
    }
    append(trace["traceEvents"], events, zero_ns - trace.value("baseTimeNanoseconds", 0LL));
    write_output(path, as_bytes(trace.dump()));
  }
};

StepTrace::StepTrace(std::filesystem::path path, const StepSpan& span)
    : impl_(new Impl{.path = std::move(path), .span = span}) {
  const std::filesystem::path folder = impl_->path.parent_path();
  if (!folder.empty()) make_directories(folder);
  check_output(impl_->path);
  // Without a GPU, Kineto reports that on stderr as if it were an error.
  if (!activities().contains(torch::profiler::impl::ActivityType::CUDA)) {
    ::setenv("KINETO_LOG_LEVEL", "5", /*overwrite=*/0);
  }
}

StepTrace::~StepTrace() {
  if (!impl_->running) return;
  try {
    profiler::disableProfiler();
  } catch (const std::exception&) {  // training failed already; this must not hide why
  }
}

bool StepTrace::at_step(std::int64_t step) {
  if (step == impl_->span.begin && !impl_->running) impl_->start();
  if (step != impl_->span.end || !impl_->running) return false;
  impl_->write();
  return true;
}

bool StepTrace::finish() {
  if (!impl_->running) return false;
  impl_->write();
  return true;
}

reader::StageObserver StepTrace::observer() const {
  return [events = impl_->loader](reader::Stage stage, Clock::time_point begin,
                                  Clock::time_point end) { events->add(stage, begin, end); };
}

}  // namespace packhorse::trainer
