#pragma once

#include <vector>

#include "buffer.h"
#include "entropy.h"
#include "huffman.h"
#include "kernels.h"
#include "packhorse/jpeg.h"
#include "strip.h"

namespace packhorse::jpeg {

struct Scratch::State {
  Kernels kernels = fastest_kernels();
  EntropyDecoder entropy = entropy_decoder();
  Tables tables;
  Strip strip;
  Buffer<std::uint8_t> scan, last, band;
  Buffer<std::int16_t> blocks;
  std::vector<SegmentTask> tasks;
};

}  // namespace packhorse::jpeg
