#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataset/simulated_storage.h"
#include "order/order.h"

/// Predicts how fast another machine would train: a bound for each of its parts, from the measured
/// cost of an image.
namespace packhorse::trainer {

/// The mean costs of an image.
struct ImageCosts {
  double read_cpu_s = 0;          ///< one core's time to find, copy and check its bytes
  double decode_cpu_s = 0;        ///< one core's time beyond that
  double step_s = 0;              ///< one device's time, by itself
  double step_cpu_s = 0;          ///< cores' time meanwhile: on a CPU, the whole step
  double bytes = 0;               ///< stored
  bool file_apart = false;        ///< a file of its own is opened for it, and is not prefetched
  double images_per_request = 1;  ///< images requested together
};

/// How a packed dataset is read: samples that lie close together, by chance or in a window, are
/// read in one request, with gaps of up to `gap_bytes` (reader::joined_gap()).
struct Requests {
  double images = 1;           ///< in one request
  double bytes_per_image = 0;  ///< including the gaps
};
Requests requests_of(reader::OrderKind order, double samples, double sample_bytes,
                     double gap_bytes);

struct Machine {
  double cpus = 1;  ///< cores; in those that were measured
  int devices = 1;
  bool device_is_cpu = false;                        ///< the steps run on the same cores
  int workers = 1;                                   ///< reader threads, of all processes together
  std::optional<reader::StorageModel> storage = {};  ///< none: the page cache
};

/// An epoch begins with no batch ready, and computes its last batch with nothing left to load.
struct Epoch {
  double images = 0;  ///< 0: it never ends
  double batch = 0;   ///< images of a step
};

/// Images a second. A part that does not limit is 0.
struct Prediction {
  double images_per_s = 0;
  std::string bottleneck;  ///< "device", "cpu", "storage" or "latency"
  double device = 0;       ///< the rate of all devices
  double cpu = 0;          ///< the rate of the cores, including their computing on a CPU device
  double storage = 0;      ///< the rate of the storage, however many requests it gets
  double latency = 0;      ///< the rate of workers that each wait for a file
};

/// Predicts training: the smallest bound, which is an upper bound itself; near the crossing of two
/// bounds the true speed is lower. In epochs that end, `images_per_s` is lower than the bound
/// because of their start.
Prediction predict_training(const ImageCosts& costs, const Machine& machine,
                            const Epoch& epoch = {});
/// Predicts reading and decoding without a model.
Prediction predict_decoding(const ImageCosts& costs, const Machine& machine);

}  // namespace packhorse::trainer
