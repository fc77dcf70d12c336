#include <fmt/format.h>

#include <fstream>

#include "loops.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/loader.h"
#include "packhorse/reports/report_json.h"

namespace packhorse::bench {

namespace {

using Clock = std::chrono::steady_clock;
using reader::Dataset;
using reader::Loader;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Bytes of this process that are in memory: its own, and of mapped files.
struct Resident {
  double own = 0, mapped = 0;
};

Resident resident() {
  std::ifstream status("/proc/self/status");
  Resident found;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) found.own = 1024 * std::stod(line.substr(8));
    if (line.starts_with("RssFile:")) found.mapped = 1024 * std::stod(line.substr(8));
  }
  return found;
}

void read_epoch(const std::shared_ptr<const Dataset>& dataset) {
  reader::LoaderOptions options{.workers = 2, .decode = false};
  options.augment = reader::RandomResizedCrop{.size = 8};  // slots too small to count
  Loader loader(dataset, options);
  loader.start_epoch(0);
  while (loader.next()) {
  }
}

/// Time from opening a dataset to its first batch, and the memory that a sample takes after a whole
/// epoch: of the process's own, and of the mapped index. Pages of the data itself do not count.
class Start final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("input", input_, "A dataset")->required();
    app.add_option("--threads", threads_)->capture_default_str();
  }

  int run(const std::stop_token&) override {
    const Resident before = resident();
    const Clock::time_point begin = Clock::now();
    const auto dataset = Dataset::open(input_);
    const double open_s = seconds_since(begin);
    double first_batch_s = 0;
    {
      Loader loader(dataset, {.workers = threads_});
      loader.start_epoch(0);
      if (!loader.next()) throw Error(ErrorKind::kUsage, "fewer samples than a batch", input_);
      first_batch_s = seconds_since(begin);
    }
    read_epoch(dataset);
    dataset->release();
    const Resident after = resident();
    const auto samples = static_cast<double>(dataset->size());
    const double own = (after.own - before.own) / samples;
    const double mapped = (after.mapped - before.mapped) / samples;
    fmt::print("{}", json_text({{"samples", dataset->size()},
                                {"open_s", open_s},
                                {"first_batch_s", first_batch_s},
                                {"own_bytes_a_sample", own},
                                {"mapped_bytes_a_sample", mapped},
                                {"bytes_a_sample", own + mapped}}));
    return program::kDone;
  }

 private:
  std::string input_;
  int threads_ = 2;
};

}  // namespace

std::unique_ptr<program::Command> make_start() { return std::make_unique<Start>(); }

}  // namespace packhorse::bench
