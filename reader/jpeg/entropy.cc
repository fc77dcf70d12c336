#include "entropy.h"

#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "entropy.cc"
#include "targets.h"
// These must come last.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace packhorse::jpeg::HWY_NAMESPACE {
namespace {

HWY_INLINE std::uint64_t load_big(const std::uint8_t* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
}

/// The value of the `size` top bits of `bits`, as T.81's EXTEND, without a branch.
HWY_INLINE std::int32_t extended(std::uint64_t bits, std::uint32_t size) {
  const std::uint64_t negative = ~static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> 63);
  const std::uint64_t value = ((bits ^ negative) >> 1) >> (63 - size);
  return static_cast<std::int32_t>((value ^ negative) - negative);
}

/// The code at the top of `bits`, which is of at least `from` bits.
HWY_INLINE CodeEntry long_code(const CodeList& list, std::uint64_t bits, std::uint32_t from,
                               bool ac) {
  const auto word = static_cast<std::uint32_t>(bits >> 48);
  std::uint32_t length = from;
  while (length <= 16 && word >= list.end[length]) ++length;
  if (length > 16) return kInvalidCode;
  const auto index = static_cast<std::int32_t>(word >> (16 - length)) + list.first[length];
  const std::uint32_t symbol = list.symbols[static_cast<std::uint32_t>(index) & 255];
  const std::uint32_t size = symbol & 15;
  if (size > (ac ? kMaxAcBits : kMaxDcBits)) return kInvalidCode;
  std::uint32_t run = ac ? symbol >> 4 : 0;
  if (ac && size == 0 && run != 15) run = kEndOfBlock;
  return (length + size) | length << 8 | size << 16 | run << 24;
}

/// One segment on its way. After a refill at least 56 bits are valid, and all 64 are right.
struct Stream {
  std::uint64_t bits;
  std::uint32_t valid;
  std::uint32_t position;  // of the next coefficient
  const std::uint8_t* next;
  std::int16_t* out;
  const AcTable* ac;
  std::uint8_t* last;
  const BlockPlan* plan;
  const std::uint8_t* end;
  std::uint32_t block, left;  // of the MCU; in the segment
  std::array<std::uint32_t, kMaxComponents> dc;
  std::uint32_t dc_range;  // all bits that ever differed from the sign
  bool failed;

  HWY_INLINE void refill() {
    bits |= load_big(next) >> valid;
    next += (63 - valid) >> 3;
    valid |= 56;
  }
  HWY_INLINE void skip(std::uint32_t count) {
    bits <<= count;
    valid -= count;
  }

  HWY_INLINE void open(OpenSegment& from, const SegmentTask& task, const BlockPlan& blocks) {
    bits = from.bits;
    valid = from.valid;
    next = from.next;
    end = from.end;
    dc = from.dc;
    out = task.blocks;
    last = task.last;
    plan = &blocks;
    block = 0;
    left = task.mcus * blocks.count;
    dc_range = 0;
    failed = false;
    begin_block();
  }
  HWY_INLINE void close(OpenSegment& to) const {
    to.bits = bits;
    to.valid = valid;
    to.next = next;
    to.dc = dc;
  }
  HWY_INLINE bool ends_well() const {
    const std::int64_t unread = (end - next) * 8 + static_cast<std::int64_t>(valid);
    return unread >= 0 && unread < 8;
  }
  HWY_INLINE bool valid_so_far() const { return !failed && dc_range < 0x8000; }

  HWY_INLINE void begin_block() {
    std::memset(out, 0, kBlock * sizeof *out);
    refill();
    const BlockPlan::Block& with = plan->blocks[block];
    std::uint32_t entry = with.dc->values[bits >> (64 - DcTable::kBits)];
    std::uint32_t difference;
    if (HWY_LIKELY((entry & 255) != 0)) {
      difference = static_cast<std::uint32_t>(static_cast<std::int32_t>(entry) >> 16);
      skip(entry & 255);
    } else {
      difference = long_difference(*with.dc);
    }
    const std::uint32_t value = dc[with.component] += difference;
    dc_range |= value ^ (0 - (value >> 31));
    out[0] = static_cast<std::int16_t>(value);
    ac = with.ac;
    position = 1;
    refill();
  }

  HWY_NOINLINE std::uint32_t long_difference(const DcTable& table) {
    CodeEntry entry = table.codes[bits >> (64 - DcTable::kBits)];
    if (entry == 0) entry = long_code(table.list, bits, DcTable::kBits + 1, false);
    if (entry == kInvalidCode) {
      failed = true;
      return 0;
    }
    const std::uint64_t behind = bits << (entry >> 8 & 255);
    const std::int32_t difference = extended(behind, entry >> 16 & 255);
    skip(entry & 255);
    return static_cast<std::uint32_t>(difference);
  }

  /// One lookup. True when the block has ended.
  HWY_INLINE bool step() {
    const std::uint64_t entry = ac->pairs[bits >> (64 - AcTable::kBits)];
    if (HWY_LIKELY((entry & 255) != 0)) {
      skip(static_cast<std::uint32_t>(entry & 255));
      const std::uint8_t* places = kZigzag.data() + position;
      out[places[entry >> 8 & 255]] = static_cast<std::int16_t>(entry >> 32);
      out[places[entry >> 16 & 255]] = static_cast<std::int16_t>(entry >> 48);
      position += static_cast<std::uint32_t>(entry >> 24 & 255);
      if (HWY_LIKELY(position < kBlock)) return false;
      if (HWY_LIKELY(position - kEndOfBlock < kBlock) || position == kBlock) {
        position &= 127;
      } else {
        take_back(entry);
      }
      return true;
    }
    long_symbol();
    return position >= kBlock ? (position &= 127, true) : false;
  }

  /// A symbol that does not fit into a lookup. Keeps `position` either in the block or at its end.
  HWY_INLINE void long_symbol() {
    refill();
    CodeEntry entry = ac->codes[bits >> (64 - AcTable::kBits)];
    if (HWY_UNLIKELY(entry == 0)) entry = long_code(ac->list, bits, AcTable::kBits + 1, true);
    const std::uint32_t run = entry >> 24;
    if (HWY_UNLIKELY(run != kEndOfBlock && position + run >= kBlock)) {  // or kInvalidCode
      failed = true;
      position = kBlock;
      return;
    }
    const std::uint64_t behind = bits << (entry >> 8 & 255);
    const std::int32_t value = extended(behind, entry >> 16 & 255);
    skip(entry & 255);
    refill();
    if (run == kEndOfBlock) {
      position += kEndOfBlock;
      return;
    }
    out[kZigzag[position + run]] = static_cast<std::int16_t>(value);
    position += run + 1;
  }

  /// Two symbols were taken where the first filled the block, so the second belongs to the next:
  /// gives its bits back. Where the first did not fill the block, one of them reached beyond it.
  HWY_NOINLINE void take_back(std::uint64_t entry) {
    position -= static_cast<std::uint32_t>(entry >> 24 & 255);
    if (position + static_cast<std::uint32_t>(entry >> 8 & 255) != kBlock - 1) {
      failed = true;
      position = kBlock;
      return;
    }
    const std::uint32_t back = valid + static_cast<std::uint32_t>(entry & 255);
    const std::uint32_t bytes = (back + 7) >> 3;
    next -= bytes;
    bits = load_big(next) << (bytes * 8 - back);
    next += 7;
    valid = 56 - (bytes * 8 - back);
    long_symbol();
  }

  /// True when the segment has ended, or cannot go on.
  HWY_INLINE bool end_block() {
    *last++ = static_cast<std::uint8_t>(position);
    out += kBlock;
    if (--left == 0) return true;
    if (++block == plan->count) {
      block = 0;
      if (HWY_UNLIKELY(next > end + 8)) {  // bits were missing: never read far beyond the end
        failed = true;
        return true;
      }
    }
    begin_block();
    return false;
  }

  HWY_INLINE void finish() {
    for (;;) {
      refill();
      if ((step() || step() || step() || step()) && end_block()) return;
    }
  }
};

HWY_INLINE bool good(const Stream& stream) { return stream.valid_so_far() && stream.ends_well(); }

HWY_INLINE void start(Stream& stream, const SegmentTask& task, const BlockPlan& plan) {
  OpenSegment open(task.segment);
  stream.open(open, task, plan);
}

bool decode_next(OpenSegment& open, const SegmentTask& task, const BlockPlan& plan) {
  Stream stream;
  stream.open(open, task, plan);
  stream.finish();
  stream.close(open);
  return stream.valid_so_far();
}

constexpr std::size_t kStreams = 3;
constexpr int kLookups = 4;  // of 11 bits: fewer than a refill brings

/// Ends all streams but one, which has ended.
bool finish_others(std::span<Stream, kStreams> streams, std::size_t ended) {
  for (std::size_t k = 0; k < kStreams; ++k) {
    if (k == ended) continue;
    streams[k].finish();
    if (!good(streams[k])) return false;
  }
  return true;
}

bool decode_interleaved(std::span<const SegmentTask> tasks, const BlockPlan& plan) {
  Stream streams[kStreams];
  std::size_t next = 0;
  for (Stream& stream : streams) start(stream, tasks[next++], plan);
  for (;;) {
#pragma GCC unroll 4
    for (Stream& stream : streams) stream.refill();
#pragma GCC unroll 4
    for (int i = 0; i < kLookups; ++i) {
#pragma GCC unroll 4
      for (std::size_t k = 0; k < kStreams; ++k) {
        Stream& stream = streams[k];
        if (HWY_LIKELY(!stream.step()) || HWY_LIKELY(!stream.end_block())) continue;
        if (!good(stream)) return false;
        if (next == tasks.size()) return finish_others(streams, k);
        start(stream, tasks[next++], plan);
      }
    }
  }
}

bool decode(std::span<const SegmentTask> tasks, const BlockPlan& plan) {
  if (tasks.size() >= kStreams) return decode_interleaved(tasks, plan);
  for (const SegmentTask& task : tasks) {
    Stream stream;
    start(stream, task, plan);
    stream.finish();
    if (!good(stream)) return false;
  }
  return true;
}

EntropyDecoder this_target() { return {decode, decode_next}; }

}  // namespace
}  // namespace packhorse::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace packhorse::jpeg {

HWY_EXPORT(this_target);
EntropyDecoder entropy_decoder() { return HWY_DYNAMIC_DISPATCH(this_target)(); }

}  // namespace packhorse::jpeg
#endif
