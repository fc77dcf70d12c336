#pragma once

#include <optional>
#include <string>
#include <vector>

#include "packhorse/reader/order.h"
#include "packhorse/reader/simulated_storage.h"

/// How fast a machine that is not here would train: a bound for each of its parts, from what an
/// image was measured to cost.
namespace packhorse::trainer {

/// Of an image, on average.
struct ImageCosts {
  double read_cpu_s = 0;          ///< of a core: finding, copying and checking its bytes
  double decode_cpu_s = 0;        ///< of a core, beyond that
  double step_s = 0;              ///< of a device, by itself
  double step_cpu_s = 0;          ///< of cores meanwhile: on a CPU, all that it takes
  double bytes = 0;               ///< stored
  bool file_apart = false;        ///< a file of its own is opened for it, and is not prefetched
  double images_per_request = 1;  ///< that are asked for together
};

/// How a packed dataset is asked for: what chance, or a window, brings close together is read at
/// once, with gaps of up to `gap_bytes` (reader::joined_gap()).
struct Requests {
  double images = 1;           ///< of one request
  double bytes_per_image = 0;  ///< with the gaps
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

/// Each begins with no batch ready, and its last batch is computed with nothing left to load.
struct Epoch {
  double images = 0;  ///< 0: it never ends
  double batch = 0;   ///< images of a step
};

/// Images a second. A part that is no limit is 0.
struct Prediction {
  double images_per_s = 0;
  std::string bottleneck;  ///< "device", "cpu", "storage" or "latency"
  double device = 0;       ///< what all devices take
  double cpu = 0;          ///< what the cores prepare, and compute where they do that, too
  double storage = 0;      ///< what the storage delivers, however many ask
  double latency = 0;      ///< what the workers get that each wait for a file
};

/// Training; the smallest bound, so an upper bound itself: near the crossing of two of them the
/// truth is below. In epochs that end, `images_per_s` is below the bound by what they begin with.
Prediction predict_training(const ImageCosts& costs, const Machine& machine,
                            const Epoch& epoch = {});
/// Reading and decoding without a model.
Prediction predict_decoding(const ImageCosts& costs, const Machine& machine);

}  // namespace packhorse::trainer
