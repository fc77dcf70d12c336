#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packhorse/reader/loader.h"

namespace packhorse::reader::test {

inline const Augment kCrop = RandomResizedCrop{.size = 24};

inline LoaderOptions options_for(int workers) {
  return {.batch_size = 5, .workers = workers, .slots = 3, .augment = kCrop, .seed = 11};
}

/// Everything that an epoch delivers.
struct Epoch {
  std::vector<std::uint8_t> pixels;
  std::vector<std::int64_t> labels, sizes;
  std::vector<std::uint64_t> samples;
  friend bool operator==(const Epoch&, const Epoch&) = default;
};

inline void append(Epoch& all, const Batch& batch) {
  all.pixels.insert(all.pixels.end(), batch.images().begin(), batch.images().end());
  all.labels.insert(all.labels.end(), batch.labels().begin(), batch.labels().end());
  all.samples.insert(all.samples.end(), batch.samples().begin(), batch.samples().end());
  all.sizes.push_back(batch.size());
}

inline Epoch rest_of(Loader& loader) {
  Epoch all;
  while (const std::optional<Batch> batch = loader.next()) append(all, *batch);
  return all;
}

inline Epoch epoch_of(Loader& loader, std::uint64_t epoch, std::uint64_t done = 0) {
  loader.start_epoch(epoch, done);
  return rest_of(loader);
}

}  // namespace packhorse::reader::test
