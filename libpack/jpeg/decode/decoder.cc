#include "packhorse/jpeg/decoder.h"

#include <algorithm>

#include "jpeg/decode/entropy.h"
#include "jpeg/decode/frame.h"
#include "jpeg/decode/huffman.h"
#include "jpeg/decode/mcu_walk.h"
#include "jpeg/decode/progressive.h"
#include "jpeg/decode/rows.h"
#include "jpeg/decode/scratch.h"
#include "jpeg/decode/segments.h"
#include "jpeg/decode/strip.h"

namespace packhorse::jpeg {

namespace {

bool lies_within(const Window& window, const Frame& frame) {
  const std::uint32_t width = frame.scaled_width(), height = frame.scaled_height();
  return window.width > 0 && window.height > 0 && window.x < width && window.y < height &&
         window.width <= width - window.x && window.height <= height - window.y;
}

/// `window` is not empty.
bool has_room(const Output& output, const Window& window) {
  const std::size_t row = std::size_t{3} * window.width;
  return output.stride >= row && output.pixels.size() >= row &&
         (output.pixels.size() - row) / output.stride >= window.height - 1;
}

/// Whether each row of MCUs consists of whole segments.
bool whole_segments(const Frame& frame) {
  return frame.restart_interval != 0 && frame.mcus_per_row % frame.restart_interval == 0;
}

/// Turns the bytes of one picture into pixels.
class Picture {
 public:
  Picture(Bytes file, const Frame& frame, const Window& window, const RowWriter& rows,
          Scratch::State& state)
      : frame_(frame),
        window_(window),
        rows_(rows),
        state_(state),
        plan_(plan_of(frame, state.tables)),
        mcus_(needed_mcus(frame, window)),
        segments_(file, frame, state.kernels, state.scan),
        y_(window.y) {}

  /// False where the scan is damaged.
  bool decode() { return whole_segments(frame_) ? decode_by_segments() : decode_in_order(); }
  /// The same for a progressive picture, whose coefficients are there.
  void transform(const Coefficients& coefficients);

 private:
  bool decode_by_segments();
  bool decode_in_order();
  bool take_rows(std::uint32_t top, std::uint32_t bottom, std::uint32_t first, std::uint32_t end);
  void write_rows(std::uint32_t bottom);

  std::size_t blocks_of(std::size_t mcus) const { return mcus * frame_.blocks_per_mcu; }

  const Frame& frame_;
  const Window& window_;
  RowWriter rows_;
  Scratch::State& state_;
  BlockPlan plan_;
  McuRange mcus_;
  Segments segments_;
  std::uint32_t y_;  // the next row of pixels to be written
};

/// Writes the rows of pixels that are complete once the MCU rows above `bottom` are.
void Picture::write_rows(std::uint32_t bottom) {
  const std::uint32_t end = window_.y + window_.height;
  std::uint32_t upto = end;
  if (bottom < mcus_.bottom) {
    const std::uint32_t below = frame_.up_v - 1;  // the last row needs the chroma below it
    upto = std::min(end, bottom * frame_.mcu_height() - below);
  }
  for (; y_ < upto; ++y_) {
    state_.strip.write_row(y_, window_.x, window_.width, rows_.row());
    rows_.done();
  }
}

/// Un-stuffs the segments [first, end) of each MCU row in [top, bottom).
bool Picture::take_rows(std::uint32_t top, std::uint32_t bottom, std::uint32_t first,
                        std::uint32_t end) {
  const std::uint32_t mcus = segments_.interval();
  std::int16_t* blocks = state_.blocks.data();
  std::uint8_t* last = state_.last.data();
  // No undamaged block takes more bytes.
  constexpr std::size_t kBlockBytes = 224;
  segments_.clear(blocks_of(std::size_t{end - first} * mcus) * (bottom - top) * kBlockBytes);
  state_.tasks.clear();
  for (std::uint32_t row = top; row < bottom; ++row) {
    if (!segments_.go_to_row(row) || !segments_.go_to(segments_.next() + first)) return false;
    for (std::uint32_t i = first; i < end; ++i) {
      SegmentTask& task = state_.tasks.emplace_back(SegmentTask{{}, blocks, last, mcus});
      if (!segments_.take(task.segment)) return false;
      blocks += blocks_of(mcus) * kBlock;
      last += blocks_of(mcus);
    }
  }
  segments_.limit_reads();
  return true;
}

/// Decodes a scan whose rows consist of whole segments: only the segments that the window needs,
/// those of several rows together.
bool Picture::decode_by_segments() {
  constexpr std::size_t kBlocksTogether = 768;  // 96 KB of coefficients: they stay in the cache
  constexpr std::size_t kRowsTogether = 8;
  const std::uint32_t interval = segments_.interval();
  const std::uint32_t first = mcus_.left / interval, end = (mcus_.right - 1) / interval + 1;
  const std::size_t row_blocks = blocks_of(std::size_t{end - first} * interval);
  const auto together = static_cast<std::uint32_t>(
      std::clamp(kBlocksTogether / row_blocks, std::size_t{1}, kRowsTogether));
  const std::size_t skipped = blocks_of(mcus_.left - first * interval);
  state_.blocks.reserve(row_blocks * together * kBlock);
  state_.last.reserve(row_blocks * together);
  state_.strip.begin(frame_, mcus_, together, state_.kernels);
  for (std::uint32_t top = mcus_.top; top < mcus_.bottom; top += together) {
    const std::uint32_t bottom = std::min(mcus_.bottom, top + together);
    if (!take_rows(top, bottom, first, end)) return false;
    if (!state_.entropy.decode(state_.tasks, plan_)) return false;
    state_.strip.move_to(top);
    for (std::uint32_t row = top; row < bottom; ++row) {
      const std::size_t at = row_blocks * (row - top) + skipped;
      state_.strip.transform(row, state_.blocks.data() + at * kBlock, state_.last.data() + at);
    }
    write_rows(bottom);
  }
  return true;
}

/// Decodes a scan whose segments begin and end anywhere, or that has only one: MCU after MCU, from
/// the segment in which the window begins.
bool Picture::decode_in_order() {
  const std::uint32_t row_mcus = mcus_.right - mcus_.left;
  std::int16_t* blocks = state_.blocks.reserve(blocks_of(row_mcus) * kBlock);
  std::uint8_t* last = state_.last.reserve(blocks_of(row_mcus));
  state_.strip.begin(frame_, mcus_, 1, state_.kernels);
  const std::uint32_t begin = mcus_.top * frame_.mcus_per_row + mcus_.left;
  if (!segments_.go_to(begin / segments_.interval())) return false;
  McuWalk walk(frame_, segments_, state_.entropy, plan_);
  std::uint32_t skipped = begin % segments_.interval();
  for (std::uint32_t row = mcus_.top; row < mcus_.bottom; ++row) {
    if (!walk.next(skipped, nullptr, nullptr)) return false;
    if (!walk.next(row_mcus, blocks, last)) return false;
    skipped = frame_.mcus_per_row - row_mcus;
    state_.strip.move_to(row);
    state_.strip.transform(row, blocks, last);
    write_rows(row + 1);
  }
  return true;
}

void Picture::transform(const Coefficients& coefficients) {
  state_.strip.begin(frame_, mcus_, 1, state_.kernels);
  for (std::uint32_t row = mcus_.top; row < mcus_.bottom; ++row) {
    const std::size_t first = blocks_of(std::size_t{row - mcus_.top} * (mcus_.right - mcus_.left));
    state_.strip.move_to(row);
    state_.strip.transform(row, coefficients.blocks + first * kBlock, coefficients.last + first);
    write_rows(row + 1);
  }
}

Result begin(Bytes file, const Window& window, Scale scale, HeaderParser& parser, Frame& frame) {
  const Reason reason = parse_frame(file, parser, frame);
  Result result{reason, frame.width, frame.height};
  if (!result.done()) return result;
  scale_frame(frame, static_cast<std::uint32_t>(scale));
  if (!lies_within(window, frame)) result.reason = Reason::kWindow;
  return result;
}

void finish(Bytes file, HeaderParser& parser, const Frame& frame, const Window& window,
            const RowWriter& rows, Scratch::State& state, Result& result) {
  if (frame.progressive) {
    Coefficients coefficients;
    result.reason = decode_progressive(file, parser, frame, needed_mcus(frame, window),
                                       state.kernels, state.progressive, coefficients);
    if (result.done()) Picture(file, frame, window, rows, state).transform(coefficients);
    state.progressive.shrink();
    return;
  }
  const unsigned bits = whole_segments(frame) ? AcTable::kInterleavedBits : AcTable::kSerialBits;
  const bool good = state.tables.prepare(frame, bits, file.size() - frame.scan) &&
                    Picture(file, frame, window, rows, state).decode();
  if (!good) result.reason = Reason::kDamaged;
}

}  // namespace

Scratch::Scratch() = default;
Scratch::~Scratch() = default;
Scratch::Scratch(Scratch&&) noexcept = default;
Scratch& Scratch::operator=(Scratch&&) noexcept = default;

Scratch::State& Scratch::state() {
  if (!state_) state_ = std::make_unique<State>();
  return *state_;
}

std::size_t Scratch::kept_bytes() const {
  if (!state_) return 0;
  return sizeof(State) + state_->strip.kept_bytes() + state_->scan.bytes() + state_->last.bytes() +
         state_->blocks.bytes() + state_->band.bytes() + state_->progressive.bytes() +
         state_->tasks.capacity() * sizeof(SegmentTask);
}

Result decode(Bytes file, const Window& window, const Output& output, Scratch& scratch,
              Scale scale) {
  Frame frame;
  HeaderParser parser(frame);
  Result result = begin(file, window, scale, parser, frame);
  if (result.done() && !has_room(output, window)) result.reason = Reason::kWindow;
  if (result.done())
    finish(file, parser, frame, window, RowWriter(output), scratch.state(), result);
  return result;
}

Result decode(Bytes file, const Window& window, RowSink& sink, Scratch& scratch, Scale scale) {
  Frame frame;
  HeaderParser parser(frame);
  Result result = begin(file, window, scale, parser, frame);
  if (!result.done()) return result;
  Scratch::State& state = scratch.state();
  finish(file, parser, frame, window, RowWriter(sink, window, state.band), state, result);
  return result;
}

std::string_view name_of(Reason reason) {
  switch (reason) {
    case Reason::kNone:
      return "decoded";
    case Reason::kDamaged:
      return "damaged or unusual";
    case Reason::kProgressive:
      return "progressive";
    case Reason::kArithmetic:
      return "arithmetic coding";
    case Reason::kTwelveBit:
      return "not 8 bit";
    case Reason::kComponents:
      return "two or four components";
    case Reason::kRgb:
      return "RGB";
    case Reason::kSampling:
      return "unusual sampling";
    case Reason::kScans:
      return "several scans";
    case Reason::kWideTables:
      return "16-bit quantisation";
    case Reason::kLines:
      return "height after the scan";
    case Reason::kWindow:
      return "window outside";
  }
  return "unknown";
}

}  // namespace packhorse::jpeg
