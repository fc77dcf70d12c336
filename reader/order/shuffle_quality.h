#pragma once

#include <cstdint>

#include "order/order.h"
#include "packhorse/reader/dataset.h"

namespace packhorse::reader {

/// Looks at up to `batches` batches, evenly spread over the epoch. Zeros when there are none.
ShuffleQuality shuffle_quality(const Dataset& dataset, const Order& order, std::uint64_t batches);

}  // namespace packhorse::reader
