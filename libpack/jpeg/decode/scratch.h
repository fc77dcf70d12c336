#pragma once

#include <vector>

#include "jpeg/decode/buffer.h"
#include "jpeg/decode/entropy.h"
#include "jpeg/decode/huffman.h"
#include "jpeg/decode/progressive.h"
#include "jpeg/decode/strip.h"
#include "jpeg/kernels/kernels.h"
#include "packhorse/jpeg/decoder.h"

namespace packhorse::jpeg {

struct Scratch::State {
  Kernels kernels = fastest_kernels();
  EntropyDecoder entropy = entropy_decoder();
  Tables tables;
  Strip strip;
  Buffer<std::uint8_t> scan, last, band;
  Buffer<std::int16_t> blocks;
  ProgressiveMemory progressive;
  std::vector<SegmentTask> tasks;
};

}  // namespace packhorse::jpeg
