#include "jpeg/decode/entropy.h"

#include <algorithm>
#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/decode/entropy.cc"
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

/// The value of the top `size` bits of `bits`: T.81's EXTEND, without a branch.
HWY_INLINE std::int32_t extended(std::uint64_t bits, std::uint32_t size) {
  const std::uint64_t negative = ~static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> 63);
  const std::uint64_t value = ((bits ^ negative) >> 1) >> (63 - size);
  return static_cast<std::int32_t>((value ^ negative) - negative);
}

/// Finds the code at the top of `bits`, which has at least `from` bits. `max_bits` tells AC from
/// DC.
HWY_NOINLINE CodeEntry long_code(const CodeList& list, std::uint64_t bits, std::uint32_t from,
                                 std::uint32_t max_bits) {
  const bool ac = max_bits == kMaxAcBits;
  const auto word = static_cast<std::uint32_t>(bits >> 48);
  std::uint32_t length = from;
  while (length <= 16 && word >= list.end[length]) ++length;
  if (length > 16) return kInvalidCode;
  const auto index = static_cast<std::int32_t>(word >> (16 - length)) + list.first[length];
  const std::uint32_t symbol = list.symbols[static_cast<std::uint32_t>(index) & 255];
  const std::uint32_t size = symbol & 15;
  if (size > max_bits) return kInvalidCode;
  std::uint32_t run = ac ? symbol >> 4 : 0;
  if (ac && size == 0 && run != 15) run = kEndOfBlock;
  return (length + size) | length << 8 | size << 16 | run << 24;
}

/// The next bits of a segment. After a refill at least 56 are valid, and all 64 are right.
struct BitReader {
  std::uint64_t bits;
  std::uint32_t valid;
  const std::uint8_t* next;

  HWY_INLINE void refill() {
    bits |= load_big(next) >> valid;
    next += (63 - valid) >> 3;
    valid |= 56;
  }
  HWY_INLINE void skip(std::uint32_t count) {
    bits <<= count;
    valid -= count;
  }
  /// Takes a code and its value, which must not be kInvalidCode.
  HWY_INLINE std::int32_t take(CodeEntry entry) {
    const std::int32_t value = extended(bits << (entry >> 8 & 255), entry >> 16 & 255);
    skip(entry & 255);
    return value;
  }
};

/// Gives back the last `count` bits, and takes only the first symbol of them.
HWY_NOINLINE BitReader taken_back(BitReader at, std::uint32_t count, const AcTable& table) {
  const std::uint32_t back = at.valid + count, bytes = (back + 7) >> 3;
  at.next -= bytes;
  at.bits = load_big(at.next) << (bytes * 8 - back);
  at.next += 7;
  at.valid = 56 - (bytes * 8 - back);
  at.skip(long_code(table.list, at.bits, 1, kMaxAcBits) & 255);
  at.refill();
  return at;
}

/// One segment being decoded, with tables of `kBits`. Nothing takes its address, so that it may
/// live in registers.
template <unsigned kBits, bool kStore = true>
struct Stream {
  BitReader in;
  std::uint32_t position;  // place of the next coefficient
  std::int16_t* out;
  const AcTable* ac;
  std::uint8_t* last;
  const BlockPlan* plan;
  const std::uint8_t* end;
  std::uint32_t block, left;  // next in the MCU; to come in the segment
  std::array<std::uint32_t, kMaxComponents> dc;
  std::uint32_t dc_range;  // all bits that ever differed from the sign
  bool failed;

  HWY_INLINE void open(const OpenSegment& from, const SegmentTask& task, const BlockPlan& blocks) {
    in = {from.bits, from.valid, from.next};
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
    to.bits = in.bits;
    to.valid = in.valid;
    to.next = in.next;
    to.dc = dc;
  }
  HWY_INLINE bool valid_so_far() const { return !failed && dc_range < 0x8000; }
  /// Whether at most a word beyond the segment has been read, as in any undamaged one. Checked
  /// after each MCU, so that reading stops within kMcuBytes of a damaged segment's end.
  HWY_INLINE bool within() const { return in.next <= end + sizeof(std::uint64_t); }
  HWY_INLINE bool good() const {
    const std::int64_t unread = (end - in.next) * 8 + static_cast<std::int64_t>(in.valid);
    return valid_so_far() && unread >= 0 && unread < 8;
  }

  HWY_INLINE void begin_block() {
    if constexpr (kStore) std::memset(out, 0, kBlock * sizeof *out);
    in.refill();
    const BlockPlan::Block& with = plan->blocks[block];
    const std::uint64_t entry = with.dc->differences[in.bits >> (64 - DcTable::kBits)];
    auto difference = static_cast<std::uint32_t>(static_cast<std::int32_t>(entry) >> 16);
    if (HWY_LIKELY((entry & 255) != 0)) {
      in.skip(static_cast<std::uint32_t>(entry & 255));
    } else {
      difference = long_difference(*with.dc, static_cast<CodeEntry>(entry >> 32));
    }
    const std::uint32_t value = dc[with.component] += difference;
    dc_range |= value ^ (0 - (value >> 31));
    if constexpr (kStore) out[0] = static_cast<std::int16_t>(value);
    ac = with.ac;
    position = 1;
    in.refill();
  }

  /// Decodes a difference that does not fit into a lookup.
  HWY_INLINE std::uint32_t long_difference(const DcTable& table, CodeEntry entry) {
    if (entry == 0) entry = long_code(table.list, in.bits, DcTable::kBits + 1, kMaxDcBits);
    if (HWY_LIKELY(entry >> 24 == 0)) return static_cast<std::uint32_t>(in.take(entry));
    failed = true;
    return 0;
  }

  /// Does one lookup. True when the block has ended.
  HWY_INLINE bool step() {
    const std::uint64_t entry = ac->pairs[in.bits >> (64 - kBits)];
    if (HWY_UNLIKELY((entry & 255) == 0)) return long_symbol(static_cast<CodeEntry>(entry >> 32));
    in.skip(static_cast<std::uint32_t>(entry & 255));
    if constexpr (kStore) {
      const std::uint8_t* places = kZigzag.data() + position;
      out[places[entry >> 8 & 255]] = static_cast<std::int16_t>(entry >> 32);
      out[places[entry >> 16 & 255]] = static_cast<std::int16_t>(entry >> 48);
    }
    position += static_cast<std::uint32_t>(entry >> 24 & 255);
    if (HWY_LIKELY(position < kBlock)) return false;
    if (HWY_LIKELY(position - kEndOfBlock < kBlock) || position == kBlock) {
      position &= 127;
      return true;
    }
    // If the first symbol filled the block, the second belongs to the next block. If not, one of
    // them reached beyond the block.
    const std::uint32_t first = position - static_cast<std::uint32_t>(entry >> 24 & 255) +
                                static_cast<std::uint32_t>(entry >> 8 & 255);
    position = kBlock;
    if (first == kBlock - 1) {
      in = taken_back(in, static_cast<std::uint32_t>(entry & 255), *ac);
      if constexpr (kStore) out[kBlock - 1] = static_cast<std::int16_t>(entry >> 32);
    } else {
      failed = true;
    }
    return true;
  }

  /// Decodes a symbol that does not fit into a lookup. True when the block has ended.
  HWY_INLINE bool long_symbol(CodeEntry entry) {
    in.refill();
    if (HWY_UNLIKELY(entry == 0)) {
      entry = long_code(ac->list, in.bits, kBits + 1, kMaxAcBits);
    }
    const std::uint32_t run = entry >> 24;
    if (HWY_UNLIKELY(position + run >= kBlock)) {
      if (run == kEndOfBlock) {
        in.skip(entry & 255);
        return true;
      }
      failed = true;  // too long a run, or kInvalidCode
      position = kBlock;
      return true;
    }
    const std::int32_t value = in.take(entry);
    if constexpr (kStore) out[kZigzag[position + run]] = static_cast<std::int16_t>(value);
    in.refill();
    position += run + 1;
    return position == kBlock;
  }

  /// True when the segment has ended, or cannot go on.
  HWY_INLINE bool end_block() {
    if constexpr (kStore) {
      *last++ = static_cast<std::uint8_t>(position);
      out += kBlock;
    }
    if (--left == 0) return true;
    if (++block == plan->count) {
      block = 0;
      // Bits are missing; or no code fits, which takes no bits.
      if (HWY_UNLIKELY(failed || !within())) {
        failed = true;
        return true;
      }
    }
    begin_block();
    return false;
  }

  HWY_INLINE void finish() {
    for (;;) {  // five lookups take fewer bits than a refill brings
      in.refill();
      if ((step() || step() || step() || step() || step()) && end_block()) return;
    }
  }
};

template <unsigned kBits>
HWY_INLINE void start(Stream<kBits>& stream, const SegmentTask& task, const BlockPlan& plan) {
  stream.open(OpenSegment(task.segment), task, plan);
}

template <unsigned kBits, bool kStore>
HWY_INLINE bool decode_some(OpenSegment& open, const SegmentTask& task, const BlockPlan& plan) {
  Stream<kBits, kStore> stream;
  stream.open(open, task, plan);
  stream.finish();
  stream.close(open);
  return stream.valid_so_far() && stream.within();
}

template <unsigned kBits>
bool decode_next_by(OpenSegment& open, const SegmentTask& task, const BlockPlan& plan) {
  return task.blocks != nullptr ? decode_some<kBits, true>(open, task, plan)
                                : decode_some<kBits, false>(open, task, plan);
}

bool decode_next(OpenSegment& open, const SegmentTask& task, const BlockPlan& plan) {
  return plan.ac_bits == AcTable::kShortBits
             ? decode_next_by<AcTable::kShortBits>(open, task, plan)
             : decode_next_by<AcTable::kSerialBits>(open, task, plan);
}

template <unsigned kBits>
bool decode_alone(const SegmentTask& task, const BlockPlan& plan) {
  Stream<kBits> stream;
  start(stream, task, plan);
  stream.finish();
  return stream.good();
}

template <unsigned kBits>
HWY_NOINLINE bool finished(Stream<kBits> stream) {
  stream.finish();
  return stream.good();
}

/// Does one lookup of each stream in turn, until no task is left to begin.
template <unsigned kBits>
bool decode_interleaved(std::span<const SegmentTask> tasks, const BlockPlan& plan) {
  constexpr int kLookups = 4;  // each of 11 bits: fewer than a refill brings
  std::size_t next = 3;
  Stream<kBits> a, b, c;
  start(a, tasks[0], plan);
  start(b, tasks[1], plan);
  start(c, tasks[2], plan);
  for (;;) {
    a.in.refill();
    b.in.refill();
    c.in.refill();
#pragma GCC unroll 4
    for (int i = 0; i < kLookups; ++i) {
      if (HWY_UNLIKELY(a.step()) && HWY_UNLIKELY(a.end_block())) {
        if (!a.good()) return false;
        if (next == tasks.size()) return finished(b) && finished(c);
        start(a, tasks[next++], plan);
      }
      if (HWY_UNLIKELY(b.step()) && HWY_UNLIKELY(b.end_block())) {
        if (!b.good()) return false;
        if (next == tasks.size()) return finished(a) && finished(c);
        start(b, tasks[next++], plan);
      }
      if (HWY_UNLIKELY(c.step()) && HWY_UNLIKELY(c.end_block())) {
        if (!c.good()) return false;
        if (next == tasks.size()) return finished(a) && finished(b);
        start(c, tasks[next++], plan);
      }
    }
  }
}

template <unsigned kBits>
bool decode_by(std::span<const SegmentTask> tasks, const BlockPlan& plan) {
  if (tasks.size() >= 3) return decode_interleaved<kBits>(tasks, plan);
  return std::ranges::all_of(
      tasks, [&](const SegmentTask& task) { return decode_alone<kBits>(task, plan); });
}

bool decode(std::span<const SegmentTask> tasks, const BlockPlan& plan) {
  return plan.ac_bits == AcTable::kShortBits ? decode_by<AcTable::kShortBits>(tasks, plan)
                                             : decode_by<AcTable::kInterleavedBits>(tasks, plan);
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
