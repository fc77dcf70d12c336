#pragma once

#include <ATen/core/Tensor.h>

namespace packhorse::trainer {

/// The objects of a batch, each picture with as many rows as the one with the most objects.
struct TrueBoxes {
  at::Tensor boxes;   ///< float [B, G, 4]: centre x, y, width, height in pixels
  at::Tensor labels;  ///< int64 [B, G]
  at::Tensor real;    ///< bool [B, G]: false for rows that only fill up
};

}  // namespace packhorse::trainer
