#include "loops.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstring>

#include "dataset/shard_index.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/reader/dataset.h"
#include "packhorse/reader/decode.h"
#include "reports/report_json.h"

namespace packhorse::bench {

using program::Json;

namespace {

constexpr std::size_t kSlots = 4,
                      kBatch = 64;  // as many pictures in memory as a Loader has by default

/// What the loops have in common: an input, threads, and a result in JSON.
class Loop : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("input", input_, "A dataset or a class folder")->required();
    app.add_option("--split", split_, "Where the input has several");
    app.add_option("--threads", options_.threads)
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--min-seconds", options_.min_seconds)->capture_default_str();
  }
  int run() override {
    fmt::print("{}", json_text(cost_json(measured())));
    return program::kDone;
  }

 protected:
  virtual LoopCost measured() = 0;
  std::string input_, split_;
  LoopOptions options_;
};

/// The ranges of the images in mapped shards, copied out and not looked at: memory's own speed.
class CopyLoop final : public Loop {
  struct Copier {
    const PackedDataset* dataset;
    const std::vector<MappedFile>* shards;
    std::vector<std::byte> out{};
    void operator()(std::uint64_t, std::uint64_t sample, std::uint64_t) {
      const PackedDataset::Place at = dataset->place(sample);
      const ByteRange range = dataset->index(at.shard)->range(at.row);
      if (out.size() < range.length) out.resize(range.length);  // never smaller: that would clear
      std::memcpy(out.data(), (*shards)[at.shard].bytes().data() + range.offset, range.length);
    }
  };

  LoopCost measured() override {
    const PackedDataset dataset(std::filesystem::path(input_) / split_);
    std::vector<MappedFile> shards;
    for (std::size_t shard = 0; shard < dataset.shards(); ++shard) {
      if (dataset.index(shard)->compressed())
        throw Error(ErrorKind::kUnsupported, "compressed shards have no ranges to copy", input_);
      shards.emplace_back(dataset.data_path(shard));
    }
    std::vector<Copier> workers(static_cast<std::size_t>(options_.threads),
                                Copier{&dataset, &shards});
    return run_epochs(dataset.size(), options_, workers);
  }
};

/// The reader's own parts in a bare loop: what a Loader adds to it is its overhead. Begins as cold
/// as a Loader does, its buffers not there yet.
class PixelsLoop final : public Loop {
 public:
  PixelsLoop() { options_.warm_up = false; }

 private:
  struct Worker {
    const reader::Dataset* dataset;
    std::vector<std::uint8_t>* slots;
    reader::RandomResizedCrop augment{};
    reader::Decoder decoder{};
    std::vector<std::byte> bytes{};
    void operator()(std::uint64_t place, std::uint64_t sample, std::uint64_t epoch) {
      const BytesLease file = dataset->view(sample, bytes);
      const std::size_t size = slots->size() / (kSlots * kBatch);
      const std::span out = std::span(*slots).subspan(place % (kSlots * kBatch) * size, size);
      decoder.decode(file.bytes, augment, reader::SampleRandom(0, epoch, sample), out,
                     dataset->image(sample));
    }
  };

  LoopCost measured() override {
    const auto dataset = reader::Dataset::open(input_, split_);
    const auto side = static_cast<std::size_t>(reader::RandomResizedCrop{}.size.width);
    std::vector<std::uint8_t> slots(kSlots * kBatch * side * side * 3);
    std::vector<Worker> workers;
    for (int i = 0; i < options_.threads; ++i) workers.push_back({dataset.get(), &slots});
    return run_epochs(dataset->size(), options_, workers);
  }
};

}  // namespace

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Json cost_json(const LoopCost& cost) {
  return {{"samples", cost.samples},
          {"images", cost.images},
          {"seconds", cost.seconds},
          {"images_per_s", static_cast<double>(cost.images) / cost.seconds},
          {"cpu_s", cost.cpu_s}};
}

std::unique_ptr<program::Command> make_copy_loop() { return std::make_unique<CopyLoop>(); }
std::unique_ptr<program::Command> make_pixels_loop() { return std::make_unique<PixelsLoop>(); }

}  // namespace packhorse::bench
