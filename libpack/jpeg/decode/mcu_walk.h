#pragma once

#include <cstdint>

#include "jpeg/decode/entropy.h"
#include "jpeg/decode/frame.h"
#include "jpeg/decode/huffman.h"
#include "jpeg/decode/segments.h"

namespace packhorse::jpeg {

/// What the blocks of a frame's MCUs are decoded with.
BlockPlan plan_of(const Frame& frame, const Tables& tables);

/// Decodes MCUs one after the other, in segments that begin and end anywhere. One thread.
class McuWalk {
 public:
  /// All arguments must outlive this. Tables must have been prepared for AcTable::kSerialBits.
  McuWalk(const Frame& frame, Segments& segments, const EntropyDecoder& entropy,
          const BlockPlan& plan)
      : frame_(frame), segments_(segments), entropy_(entropy), plan_(plan) {}

  /// Decodes the next `mcus`, as in SegmentTask; without `blocks`, only passes over them. False
  /// when the scan is damaged.
  bool next(std::uint32_t mcus, std::int16_t* blocks, std::uint8_t* last);

 private:
  const Frame& frame_;
  Segments& segments_;
  const EntropyDecoder& entropy_;
  const BlockPlan& plan_;
  OpenSegment open_;
  std::uint32_t left_ = 0;  // MCUs left in it
};

}  // namespace packhorse::jpeg
