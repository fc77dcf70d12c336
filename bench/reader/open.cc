#include <fmt/format.h>

#include <chrono>
#include <fstream>

#include "base/permutation.h"
#include "loops.h"
#include "order/order.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/loader.h"
#include "reports/report_json.h"

namespace packhorse::bench {

namespace {

using Clock = std::chrono::steady_clock;
using program::Json;
using reader::Dataset;
using reader::Loader;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Megabytes of this process in memory that no file backs, and that files back.
Json resident() {
  std::ifstream status("/proc/self/status");
  Json found;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) found["own_mb"] = std::stod(line.substr(8)) / 1e3;
    if (line.starts_with("RssFile:")) found["mapped_mb"] = std::stod(line.substr(8)) / 1e3;
  }
  return found;
}

/// What a dataset costs, step by step.
class Open final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("input", input_, "A dataset")->required();
    app.add_option("--reads", reads_, "Samples read at random")->capture_default_str();
    app.add_option("--order", order_, "global, window or sequential")->capture_default_str();
  }

  int run() override {
    Json json;
    Clock::time_point begin = Clock::now();
    const auto dataset = Dataset::open(input_);
    json["open_s"] = seconds_since(begin);
    json["opened"] = resident();
    json["samples"] = dataset->size();

    reader::LoaderOptions options{.batch_size = kBatch, .workers = 2};
    options.augment = reader::RandomResizedCrop{.size = 4};
    options.order = reader::parse_order(order_);
    begin = Clock::now();
    {
      Loader loader(dataset, options);
      loader.start_epoch(0);
      if (!loader.next()) throw Error(ErrorKind::kUsage, "fewer samples than a batch", input_);
      json["first_batch_s"] = seconds_since(begin);
    }
    begin = Clock::now();
    {
      Loader loader(dataset, options);
      loader.start_epoch(3, dataset->size() / 2 / kBatch * kBatch);
      if (!loader.next()) throw Error(ErrorKind::kUsage, "fewer samples than two batches", input_);
      json["resumed_batch_s"] = seconds_since(begin);
    }
    json["order_ns"] = time_order(dataset->size());
    json["random_ns"] = time_reads(*dataset, /*random=*/true);
    json["in_order_ns"] = time_reads(*dataset, /*random=*/false);
    json["again_ns"] = time_reads(*dataset, /*random=*/true);
    json["read"] = resident();
    fmt::print("{}", json_text(json));
    return program::kDone;
  }

 private:
  static constexpr std::int64_t kBatch = 256;

  /// Nanoseconds to say which sample comes next.
  [[nodiscard]] static double time_order(std::uint64_t samples) {
    constexpr std::uint64_t kLooks = 2'000'000;
    const reader::Order order(samples, {.seed = 7, .epoch = 5, .tail = reader::Tail::kPad});
    const Clock::time_point begin = Clock::now();
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < kLooks; ++i)
      sum += order.sample(i * (samples / kLooks + 1) % samples);
    const double seconds = seconds_since(begin);
    if (sum == 0) throw Error(ErrorKind::kUsage, "an order of nothing");
    return 1e9 * seconds / kLooks;
  }

  /// Nanoseconds to read a sample and to compare its hash.
  [[nodiscard]] double time_reads(const Dataset& dataset, bool random) {
    const Permutation order(dataset.size(), mix64(++seed_));
    std::vector<std::byte> scratch;
    const Clock::time_point begin = Clock::now();
    for (std::uint64_t i = 0; i < reads_; ++i) {
      const std::uint64_t place = i % dataset.size();
      const std::uint64_t sample = random ? order(place) : place;
      if (dataset.view(sample, scratch).bytes.empty() || dataset.label(sample) < 0)
        throw Error(ErrorKind::kCorrupt, "an empty sample", input_);
      dataset.check_whole(sample);
    }
    return 1e9 * seconds_since(begin) / static_cast<double>(reads_);
  }

  std::string input_, order_ = "global";
  std::uint64_t reads_ = 200'000, seed_ = 0;
};

}  // namespace

std::unique_ptr<program::Command> make_open() { return std::make_unique<Open>(); }

}  // namespace packhorse::bench
