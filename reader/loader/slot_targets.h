#pragma once

#include <cstddef>

#include "loader/ring.h"

namespace packhorse::reader {

/// Makes room in a slot for the targets of `places` samples, each with a mask of `mask_pixels`, or
/// none where these are 0.
void give_places(Ring::Slot& slot, std::size_t places, std::size_t mask_pixels);
/// Puts what the first `samples` places have one after the other, for the batch. In a slot
/// without places the batch has none.
void join_targets(Ring::Slot& slot, std::size_t samples);

}  // namespace packhorse::reader
