#include "jpeg/decode/coefficients.h"

#include "jpeg/decode/frame.h"
#include "jpeg/decode/mcu_walk.h"
#include "jpeg/decode/progressive.h"
#include "jpeg/decode/scratch.h"
#include "jpeg/decode/segments.h"

namespace packhorse::jpeg {

namespace {

/// False where the scan is damaged.
bool decode_scan(Bytes file, const Frame& frame, CoefficientSink& sink, Scratch::State& state) {
  const BlockPlan plan = plan_of(frame, state.tables);
  Segments segments(file, frame, state.kernels, state.scan);
  McuWalk walk(frame, segments, state.entropy, plan);
  const std::size_t row = std::size_t{frame.mcus_per_row} * frame.blocks_per_mcu;
  std::int16_t* blocks = state.blocks.reserve(row * kBlock);
  std::uint8_t* last = state.last.reserve(row);
  for (std::uint32_t y = 0; y < frame.mcu_rows; ++y) {
    if (!walk.next(frame.mcus_per_row, blocks, last)) return false;
    sink.take_mcu_row(blocks);
  }
  return true;
}

}  // namespace

Result decode_coefficients(Bytes file, CoefficientSink& sink, Scratch& scratch) {
  Frame frame;
  HeaderParser parser(frame);
  const Reason reason = parse_frame(file, parser, frame);
  Result result{reason, frame.width, frame.height};
  if (!result.done()) return result;
  Scratch::State& state = scratch.state();
  if (frame.progressive) {
    Coefficients all;
    result.reason =
        decode_progressive(file, parser, frame, {0, frame.mcus_per_row, 0, frame.mcu_rows},
                           state.kernels, state.progressive, all);
    const std::size_t row = std::size_t{frame.mcus_per_row} * frame.blocks_per_mcu * kBlock;
    for (std::uint32_t y = 0; y < frame.mcu_rows && result.done(); ++y)
      sink.take_mcu_row(all.blocks + y * row);
    state.progressive.shrink();
    return result;
  }
  if (!state.tables.prepare(frame, AcTable::kSerialBits, file.size() - frame.scan) ||
      !decode_scan(file, frame, sink, state)) {
    result.reason = Reason::kDamaged;
  }
  return result;
}

}  // namespace packhorse::jpeg
