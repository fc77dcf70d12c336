#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "loops.h"
#include "order/order.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/dataset_views.h"
#include "packhorse/reader/loader.h"
#include "reports/report_json.h"

namespace packhorse::bench {

namespace {

using program::Json;
using reader::Dataset;
using reader::Sampling;
using By = Sampling::By;
double own_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stod(line.substr(8)) * 1024;
  return 0;
}

/// Labels without images.
class LabelsOnly final : public Dataset {
 public:
  LabelsOnly(std::size_t samples, std::size_t classes) : size_(samples) {
    for (std::size_t i = 0; i < classes; ++i) classes_.push_back(std::to_string(i));
  }
  std::size_t size() const override { return size_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int64_t label(std::size_t i) const override {
    return static_cast<std::int64_t>(i % classes_.size() % (i % 7 + 1));
  }
  std::uint64_t bytes(std::size_t) const override { return 0; }
  void read(std::size_t, std::vector<std::byte>& out) const override { out.clear(); }
  std::string describe(std::size_t i) const override { return std::to_string(i); }
  std::vector<std::filesystem::path> files() const override { return {}; }
  std::string format() const override { return "labels"; }
  std::string image_mode() const override { return "none"; }

 private:
  std::size_t size_;
  std::vector<std::string> classes_;
};

struct Kind {
  std::string name;
  std::shared_ptr<const Dataset> dataset;
  Sampling sampling;
};

/// All ways to sample a dataset; a mixture is of it and parts of it.
std::vector<Kind> kinds_of(const std::shared_ptr<const Dataset>& dataset) {
  const auto each = std::make_shared<std::vector<double>>(dataset->size());
  for (std::size_t i = 0; i < each->size(); ++i) (*each)[i] = static_cast<double>(i % 17 + 1);
  return {{"plain", dataset, {}},
          {"repeats", dataset, {.repeats = 3}},
          {"balanced", dataset, {.by = By::kBalanced}},
          {"balanced, replacement", dataset, {.by = By::kBalanced, .replacement = true}},
          {"weights of samples", dataset, {.by = By::kSamples, .weights = each}},
          {"mixture",
           reader::concat({dataset, dataset, dataset}),
           {.by = By::kMembers,
            .weights = std::make_shared<std::vector<double>>(std::vector<double>{.5, .3, .2}),
            .num_samples = dataset->size()}}};
}

/// What sampling costs the CPU: its tables and its draws alone, of a dataset that is made up, and
/// in a loader's epochs over INPUT, in turns with those of plain ones.
class DrawLoop final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("input", input_, "A dataset to read, too");
    app.add_option("--samples", samples_, "Of the dataset that is made up")->capture_default_str();
    app.add_option("--classes", classes_, "Of the same")->capture_default_str();
    app.add_option("--rounds", rounds_, "Epochs of each kind")->capture_default_str();
    app.add_option("--size", size_, "Pixels of the crops' sides")->capture_default_str();
    app.add_option("--max-images", images_, "Images in an epoch")->capture_default_str();
  }

  int run() override {
    Json json;
    for (const Kind& kind : kinds_of(std::make_shared<LabelsOnly>(samples_, classes_)))
      json["draws"][kind.name] = drawn(kind);
    if (!input_.empty()) json["loader"] = read();
    fmt::print("{}", json_text(json));
    return program::kDone;
  }

 private:
  static constexpr std::int64_t kBatch = 256;

  static Json drawn(const Kind& kind) {
    constexpr std::uint64_t kLooks = 4000;
    Json json;
    const double before = own_bytes();
    double begin = cpu_seconds();
    const auto sampler = std::make_shared<reader::Sampler>(*kind.dataset, kind.sampling);
    json["tables_s"] = (cpu_seconds() - begin);
    begin = cpu_seconds();
    const reader::Order order(sampler, {.seed = 7, .epoch = 5, .batch_size = kBatch});
    json["epoch_s"] = (cpu_seconds() - begin);
    json["own_mb"] = (own_bytes() - before) / 1e6;
    begin = cpu_seconds();
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < kLooks; ++i)
      for (std::int64_t place = 0; place < kBatch; ++place)
        sum += order.draw(i * order.steps() / kLooks, place).sample;
    json["batch_us"] = 1e6 * (cpu_seconds() - begin) / kLooks;
    if (sum == 0) throw Error(ErrorKind::kUsage, "draws of nothing");
    return json;
  }

  /// CPU microseconds an image: the least of all rounds, beside that of plain epochs.
  Json read() const {
    const std::vector<Kind> kinds = kinds_of(Dataset::open(input_));
    std::vector<double> least(kinds.size(), 1e30);
    for (int round = 0; round < rounds_; ++round) {
      for (std::size_t i = 0; i < kinds.size(); ++i) {
        const std::size_t turn = (i + static_cast<std::size_t>(round)) % kinds.size();
        least[turn] = std::min(least[turn], cpu_of_image(kinds[turn], round));
      }
    }
    Json json;
    for (std::size_t i = 0; i < kinds.size(); ++i)
      json[kinds[i].name] = {{"cpu_us", least[i]}, {"ratio", least[i] / least.front()}};
    return json;
  }

  double cpu_of_image(const Kind& kind, int round) const {
    reader::LoaderOptions options{.batch_size = kBatch, .workers = 1};
    options.augment = reader::RandomResizedCrop{.size = size_};
    options.sampling = kind.sampling;
    if (options.sampling.num_samples == 0 || images_ < options.sampling.num_samples)
      options.sampling.num_samples = std::min<std::uint64_t>(images_, kind.dataset->size());
    reader::Loader loader(kind.dataset, options);
    loader.start_epoch(static_cast<std::uint64_t>(round));
    std::uint64_t images = 0;
    const double begin = cpu_seconds();
    while (const std::optional<reader::Batch> batch = loader.next())
      images += static_cast<std::uint64_t>(batch->size());
    return 1e6 * (cpu_seconds() - begin) / static_cast<double>(images);
  }

  std::string input_;
  std::uint64_t samples_ = 100'000'000, classes_ = 1000, images_ = 50'000;
  int rounds_ = 5, size_ = 32;
};

}  // namespace

std::unique_ptr<program::Command> make_draw_loop() { return std::make_unique<DrawLoop>(); }

}  // namespace packhorse::bench
