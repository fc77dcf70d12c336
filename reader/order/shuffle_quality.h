#pragma once

#include <cstdint>

#include "order/order.h"
#include "packhorse/reader/dataset.h"

namespace packhorse::reader {

/// How well an order mixes, compared with drawing every batch from the whole dataset.
struct ShuffleQuality {
  /// How often two samples that are stored side by side share a batch, relative to a global
  /// shuffle: 1 for a global shuffle, about n / batch for none.
  double neighbours = 0;
  /// Different classes in a batch, relative to a global shuffle; 1 is as good.
  double classes = 0;
};

/// Looks at up to `batches` batches, evenly spread over the epoch. Zeros when there are none.
ShuffleQuality shuffle_quality(const Dataset& dataset, const Order& order, std::uint64_t batches);

}  // namespace packhorse::reader
