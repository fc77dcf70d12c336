#include "measure/predict.h"

#include "support/support.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

/// Costs of an image: 1 ms of a core to load it, 2 ms of a device.
ImageCosts costs() {
  ImageCosts costs;
  costs.read_cpu_s = 0.0002;
  costs.decode_cpu_s = 0.0008;
  costs.step_s = 0.002;
  costs.step_cpu_s = 0.004;
  costs.bytes = 100'000;
  return costs;
}

Machine machine(int cpus, int devices, const char* storage = nullptr) {
  Machine machine;
  machine.cpus = cpus;
  machine.workers = cpus;
  machine.devices = devices;
  if (storage != nullptr) machine.storage = reader::parse_storage(storage);
  return machine;
}

}  // namespace

TEST_CASE("predict: the smallest bound is the bottleneck") {
  const Prediction device = predict_training(costs(), machine(4, 1));
  CHECK(device.bottleneck == "device");
  CHECK(device.images_per_s == doctest::Approx(500));
  CHECK(device.cpu == doctest::Approx(4000));
  CHECK(device.storage == 0);
  CHECK(device.latency == 0);
  const Prediction cpu = predict_training(costs(), machine(2, 8));
  CHECK(cpu.bottleneck == "cpu");
  CHECK(cpu.images_per_s == doctest::Approx(2000));
}

TEST_CASE("predict: steps on the cores take them from the loading") {
  Machine shared = machine(2, 1);
  shared.device_is_cpu = true;
  const Prediction prediction = predict_training(costs(), shared);
  CHECK(prediction.bottleneck == "cpu");
  CHECK(prediction.images_per_s == doctest::Approx(2 / 0.005));
}

TEST_CASE("predict: an epoch begins with a batch to load, and ends with one to compute") {
  const Epoch two_steps{.images = 100, .batch = 50};
  const Prediction device = predict_training(costs(), machine(4, 1), two_steps);
  CHECK(device.images_per_s == doctest::Approx(100 / (100.0 / 500 + 50.0 / 4000)));
  CHECK(device.device == doctest::Approx(500));
  const Prediction cpu = predict_training(costs(), machine(2, 8), two_steps);
  CHECK(cpu.images_per_s == doctest::Approx(100 / (100.0 / 2000 + 50.0 / 4000)));
  Machine shared = machine(2, 1);
  shared.device_is_cpu = true;  // the CPU has nothing to compute before the first batch
  CHECK(predict_training(costs(), shared, two_steps).images_per_s ==
        doctest::Approx(100 / (100 * 0.005 / 2 + 50.0 / 2000)));
}

TEST_CASE("predict: storage is bound by its rate, or by its places") {
  const Prediction rate = predict_training(costs(), machine(96, 8, "rate=100MB"));
  CHECK(rate.bottleneck == "storage");
  CHECK(rate.images_per_s == doctest::Approx(1000));
  const Prediction places = predict_training(costs(), machine(96, 8, "access=10ms,depth=2"));
  CHECK(places.bottleneck == "storage");
  CHECK(places.images_per_s == doctest::Approx(200));
  ImageCosts together = costs();
  together.images_per_request = 10;
  CHECK(predict_training(together, machine(96, 1, "access=10ms,depth=2")).storage ==
        doctest::Approx(2000));
}

TEST_CASE("predict: a worker waits for each file, and for nothing that is asked for ahead") {
  ImageCosts apart = costs();
  apart.file_apart = true;
  const Prediction folder = predict_training(apart, machine(2, 8, "open=5ms,access=3ms"));
  CHECK(folder.bottleneck == "latency");
  CHECK(folder.images_per_s == doctest::Approx(2 / 0.009));
  const Prediction packed = predict_training(costs(), machine(2, 8, "open=5ms,access=3ms"));
  CHECK(packed.latency == 0);
  CHECK(packed.bottleneck == "cpu");
}

TEST_CASE("predict: without a model only loading counts") {
  const Prediction decoding = predict_decoding(costs(), machine(8, 1));
  CHECK(decoding.device == 0);
  CHECK(decoding.images_per_s == doctest::Approx(8000));
}

TEST_CASE("requests: alone in a large dataset, together in windows and in small ones") {
  using reader::OrderKind;
  const Requests alone = requests_of(OrderKind::kGlobal, 1.3e6, 110'000, 65'536);
  CHECK(alone.images == doctest::Approx(1).epsilon(0.01));
  CHECK(alone.bytes_per_image == doctest::Approx(110'000).epsilon(0.01));
  const Requests window = requests_of(OrderKind::kWindow, 1.3e6, 110'000, 0);
  CHECK(window.images == 39);  // 39 images bring it to 4 MiB
  const Requests small = requests_of(OrderKind::kGlobal, 60'000, 900, 65'536);
  CHECK(small.images > 100);
  CHECK(small.bytes_per_image > 900);
  const Requests apart = requests_of(OrderKind::kGlobal, 60'000, 900, 0);
  CHECK(apart.images < 2);
  CHECK(apart.bytes_per_image == doctest::Approx(900));
  CHECK(requests_of(OrderKind::kSequential, 100, 8 << 20, 0).images == 1);
}
