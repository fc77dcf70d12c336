#include "jpeg/decode/scan_blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "jpeg/kernels/quantisation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/decode/scan_blocks.cc"
// These must come last.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace packhorse::jpeg::HWY_NAMESPACE {
namespace {

// The values of pictures of 8 bits (T.81, F.1.2): others would not fit into a baseline scan.
constexpr std::int32_t kMostAc = 1023, kLeastDc = -1024, kMostDc = 1023;

/// The next bits of a scan without stuffing. Reading beyond the end is found when it has happened:
/// kScanPadding bytes after it are readable.
struct ScanBits {
  std::uint64_t bits = 0;
  std::uint32_t valid = 0;
  const std::uint8_t *next, *end;

  /// At least 56 bits are valid afterwards.
  HWY_INLINE void refill() {
    std::uint64_t word;
    std::memcpy(&word, next, sizeof word);
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
    bits |= word >> valid;
    next += (63 - valid) >> 3;
    valid |= 56;
  }
  HWY_INLINE std::uint32_t peek(std::uint32_t count) const {
    return static_cast<std::uint32_t>(bits >> (64 - count));
  }
  HWY_INLINE void skip(std::uint32_t count) {
    bits <<= count;
    valid -= count;
  }
  /// Up to 56 bits, which must be valid.
  HWY_INLINE std::uint64_t take(std::uint32_t count) {
    const std::uint64_t value = (bits >> 1) >> (63 - count);
    skip(count);
    return value;
  }
  HWY_INLINE bool within() const { return next <= end + sizeof(std::uint64_t); }
  /// Whether all bytes have been used, and none beyond.
  HWY_INLINE bool ends_well() const {
    const std::int64_t left = (end - next) * 8 + static_cast<std::int64_t>(valid);
    return left >= 0 && left < 8;
  }
};

struct LongSymbol {
  ScanBits in;
  std::uint32_t entry;  ///< as in ScanCodes::lookup, with some length; 0: there is no such code
};

/// Takes a symbol that does not fit into a lookup.
template <ScanCodes::Kind kKind>
HWY_NOINLINE LongSymbol long_symbol(const ScanCodes& codes, ScanBits in, std::uint32_t entry) {
  std::uint32_t symbol = entry >> 8 & 255, length = entry >> 16;
  if (length == 0) {
    const std::uint32_t word = in.peek(16);
    length = ScanCodes::kBits + 1;
    while (length <= 16 && word >= codes.list.end[length]) ++length;
    if (length > 16) return {in, 0};
    const auto index = static_cast<std::int32_t>(word >> (16 - length)) + codes.list.first[length];
    symbol = codes.list.symbols[static_cast<std::uint32_t>(index) & 255];
  }
  in.skip(length);
  const std::uint32_t size = kKind == ScanCodes::Kind::kDc ? symbol : symbol & 15,
                      run = kKind == ScanCodes::Kind::kDc ? 0 : symbol >> 4;
  if (size > 15) return {in, 0};
  if (kKind == ScanCodes::Kind::kAc && size == 0 && run < 15) {
    const auto more = static_cast<std::uint32_t>(in.take(run));
    return {in, 1u | kEndOfBlock << 8 | ((1u << run) + more) << 16};
  }
  const auto bits = static_cast<std::uint32_t>(in.take(size));
  const std::uint32_t value = size != 0 && bits < 1u << (size - 1) ? bits - (1u << size) + 1 : bits;
  return {in, 1u | run << 8 | value << 16};
}

/// Takes the next symbol, as ScanCodes::lookup has it; 0 where there is no such code. Needs 32
/// valid bits.
template <ScanCodes::Kind kKind>
HWY_INLINE std::uint32_t take_symbol(const ScanCodes& codes, ScanBits& in) {
  const std::uint32_t entry = codes.lookup[in.peek(ScanCodes::kBits)];
  if (HWY_LIKELY((entry & 255) != 0)) {
    in.skip(entry & 255);
    return entry;
  }
  const LongSymbol found = long_symbol<kKind>(codes, in, entry);
  in = found.in;
  return found.entry;
}

HWY_INLINE std::int32_t value_of(std::uint32_t entry) {
  return static_cast<std::int32_t>(entry) >> 16;
}

/// What refining needs of a mask, for any processor.
struct PlainMasks {
  /// Puts the low bits of `bits` where `mask` has ones, the lowest first.
  static HWY_INLINE std::uint64_t deposit(std::uint64_t bits, std::uint64_t mask) {
    std::uint64_t result = 0;
    for (; mask != 0; mask &= mask - 1, bits >>= 1) result |= mask & (0 - mask) & (0 - (bits & 1));
    return result;
  }
  /// The highest one of `mask` below `before` others; 0 where there is none.
  static HWY_INLINE std::uint64_t nth_highest(std::uint64_t mask, std::uint32_t before) {
    for (; before > 0 && mask != 0; --before) mask ^= highest(mask);
    return mask == 0 ? 0 : highest(mask);
  }

 private:
  static HWY_INLINE std::uint64_t highest(std::uint64_t mask) {
    return (std::uint64_t{1} << 63) >> std::countl_zero(mask);
  }
};

#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX2
/// The same in an instruction each.
struct FastMasks {
  static HWY_INLINE std::uint64_t deposit(std::uint64_t bits, std::uint64_t mask) {
    return __builtin_ia32_pdep_di(bits, mask);
  }
  static HWY_INLINE std::uint64_t nth_highest(std::uint64_t mask, std::uint32_t before) {
    const auto count = static_cast<std::uint32_t>(std::popcount(mask));
    if (HWY_UNLIKELY(before >= count)) return 0;
    return deposit(std::uint64_t{1} << (count - 1 - before), mask);
  }
};
#endif

HWY_INLINE std::int16_t& coefficient(std::int16_t* block, std::uint64_t bit) {
  return block[kZigzag[static_cast<std::uint32_t>(std::countl_zero(bit))]];
}

/// One scan of AC coefficients, which are sent for the first time.
struct FirstAc {
  const ScanPart& part;
  std::uint32_t ended = 0;  ///< blocks to come that have ended

  template <bool kStored>
  HWY_INLINE bool decode(ScanBits& in, std::int16_t* block, std::uint64_t& set) {
    if (ended > 0) {
      --ended;
      return true;
    }
    const std::uint32_t last = part.scan->last, low = part.scan->low;
    std::uint64_t found = 0;
    for (std::uint32_t k = part.scan->first; k <= last; ++k) {
      in.refill();
      const std::uint32_t entry = take_symbol<ScanCodes::Kind::kAc>(*part.ac, in);
      const std::uint32_t run = entry >> 8 & 255;
      if (run == kEndOfBlock) {
        ended = (entry >> 16) - 1;
        break;
      }
      if (HWY_UNLIKELY(entry == 0)) return false;
      k += run;
      if (entry >> 16 == 0) continue;  // a run of 16 zeros
      const std::int32_t value = value_of(entry) * (1 << low);
      if (k > last || value < -kMostAc || value > kMostAc) return false;
      if constexpr (kStored) block[kZigzag[k]] = static_cast<std::int16_t>(value);
      found |= (std::uint64_t{1} << 63) >> k;
    }
    set |= found;
    return in.within();
  }
};

/// One more bit of AC coefficients.
template <class Masks>
struct RefinedAc {
  const ScanPart& part;
  std::uint32_t ended = 0;  ///< blocks whose coefficients have ended, the current one with them

  /// The next bits of the coefficients `which`, which are not zero, in zigzag order.
  HWY_INLINE static std::uint64_t take_bits(ScanBits& in, std::uint64_t which) {
    constexpr std::uint32_t kMost = 32;
    auto count = static_cast<std::uint32_t>(std::popcount(which));
    std::uint64_t bits = 0;
    if (HWY_UNLIKELY(count > kMost)) {
      in.refill();
      bits = in.take(kMost);
      count -= kMost;
    }
    in.refill();
    return bits << count | in.take(count);
  }

  template <bool kStored>
  HWY_INLINE bool decode(ScanBits& in, std::int16_t* block, std::uint64_t& set) {
    const Scan& scan = *part.scan;
    // Places still to come; those that get a one; new ones, and which of them are negative.
    std::uint64_t ahead =
        (~std::uint64_t{0} >> scan.first) & (~std::uint64_t{0} << (63 - scan.last));
    std::uint64_t ones = 0, found = 0, negative = 0;
    while (ended == 0 && ahead != 0) {
      in.refill();
      const std::uint32_t entry = take_symbol<ScanCodes::Kind::kAc>(*part.ac, in);
      const std::uint32_t run = entry >> 8 & 255;
      const std::int32_t value = value_of(entry);
      if (run == kEndOfBlock) {
        ended = entry >> 16;
        break;
      }
      if (HWY_UNLIKELY(entry == 0 || value > 1 || value < -1)) return false;  // a warning
      // Passes over `run` zeros to the place of the next, and refines what lies before it.
      const std::uint64_t zeros = ahead & ~set;
      const std::uint64_t place = Masks::nth_highest(zeros, run);
      if (HWY_UNLIKELY(place == 0)) {
        if (value != 0) return false;
        if constexpr (kStored) {
          ones |= Masks::deposit(take_bits(in, ahead & set), ahead & set);
        } else {
          take_bits(in, ahead & set);
        }
        if (!in.within()) return false;
        ahead = 0;
        break;
      }
      const std::uint64_t rest = place - 1;
      const std::uint64_t refined = ahead & set & ~rest;
      const std::uint64_t bits = take_bits(in, refined);
      if constexpr (kStored) ones |= Masks::deposit(bits, refined);
      if (!in.within()) return false;
      ahead &= rest;
      if (value == 0) continue;
      found |= place;
      if constexpr (kStored) negative |= value < 0 ? place : 0;
    }
    if (ended > 0) {
      const std::uint64_t refined = ahead & set;
      const std::uint64_t bits = take_bits(in, refined);
      if constexpr (kStored) ones |= Masks::deposit(bits, refined);
      --ended;
    }
    if constexpr (kStored) {
      const std::int32_t bit = 1 << scan.low;
      for (std::uint64_t left = ones | found; left != 0; left &= left - 1) {
        const std::uint64_t one = left & (0 - left);
        std::int16_t& at = coefficient(block, one);
        const std::int32_t sign = at >> 15 | -static_cast<std::int32_t>((negative & one) != 0);
        at = static_cast<std::int16_t>(at + ((bit ^ sign) - sign));  // away from zero
      }
    }
    set |= found;
    return in.within();
  }
};

/// DC coefficients, for the first time or one more bit of them.
template <bool kRefined>
struct Dc {
  const ScanPart& part;
  std::array<std::uint32_t, kMaxComponents> predicted{};  ///< modulo 2^32

  /// The next one, of the scan's component `which`.
  template <bool kStored>
  HWY_INLINE bool take(ScanBits& in, std::uint32_t which, std::int16_t* block) {
    const std::uint32_t low = part.scan->low;
    in.refill();
    if constexpr (kRefined) {
      const auto bit = static_cast<std::int32_t>(in.take(1));
      if constexpr (kStored) *block = static_cast<std::int16_t>(*block | bit << low);
      return in.within();
    }
    const std::uint32_t entry = take_symbol<ScanCodes::Kind::kDc>(*part.dc[which], in);
    const auto value =
        static_cast<std::int32_t>(predicted[which] += static_cast<std::uint32_t>(value_of(entry)));
    if (entry == 0 || value < kLeastDc >> low || value > kMostDc >> low) return false;
    if constexpr (kStored) *block = static_cast<std::int16_t>(value * (1 << low));
    return in.within();
  }
  /// As for AC.
  template <bool kStored>
  HWY_INLINE bool decode(ScanBits& in, std::int16_t* block, std::uint64_t&) {
    return take<kStored>(in, 0, block);
  }
};

ScanBits bits_of(const ScanPart& part) { return {0, 0, part.begin, part.end}; }

/// The MCUs of a scan of all components, which is one of DC coefficients.
template <bool kRefined>
bool decode_interleaved(const ScanPart& part) {
  const Frame& frame = *part.frame;
  const McuRange& stored = part.to->stored;
  Dc<kRefined> dc{part};
  ScanBits in = bits_of(part);
  for (std::uint32_t mcu = part.first; mcu < part.stop; ++mcu) {
    const std::uint32_t x = mcu % frame.mcus_per_row, y = mcu / frame.mcus_per_row;
    const bool store = y >= stored.top && x >= stored.left && x < stored.right;
    std::int16_t* block = part.to->blocks;
    if (store)
      block += (std::size_t{y - stored.top} * (stored.right - stored.left) + (x - stored.left)) *
               frame.blocks_per_mcu * kBlock;
    for (std::uint32_t i = 0; i < part.scan->count; ++i) {
      const Component& c = frame.component[i];
      for (std::uint32_t b = 0; b < c.h * c.v; ++b, block += kBlock)
        if (!(store ? dc.template take<true>(in, i, block) : dc.template take<false>(in, i, block)))
          return false;
    }
  }
  return !part.whole || in.ends_well();
}

/// The blocks of a lone component.
template <class Coefficients>
bool decode_alone(const ScanPart& part) {
  const Frame& frame = *part.frame;
  const McuRange& stored = part.to->stored;
  const std::uint32_t component = part.scan->component[0];
  const Component& c = frame.component[component];
  const ProgressiveBlocks::Plane& plane = part.to->planes[component];
  const std::uint32_t half = c.h / 2;  // factors are 1 or 2: an MCU has 1 << half blocks in a row
  Coefficients coefficients{part};
  ScanBits in = bits_of(part);
  std::uint32_t x = part.first % plane.wide, y = part.first / plane.wide;
  for (std::uint32_t unit = part.first; unit < part.stop; ++y, x = 0) {
    std::uint64_t* const set = plane.set + std::size_t{y} * plane.wide;
    const std::uint32_t end = std::min(plane.wide, x + (part.stop - unit)), row = y / c.v;
    unit += end - x;
    const bool any = row >= stored.top;
    const std::uint32_t left = any ? std::min(end, stored.left << half) : end,
                        right = std::min(end, stored.right << half);
    for (; x < left; ++x)
      if (!coefficients.template decode<false>(in, nullptr, set[x])) return false;
    if (x < right) {
      std::int16_t* const blocks =
          part.to->blocks +
          (std::size_t{row - stored.top} * (stored.right - stored.left) * frame.blocks_per_mcu +
           plane.first + std::size_t{y % c.v} * c.h) *
              kBlock;
      for (; x < right; ++x) {
        const std::size_t at =
            std::size_t{(x >> half) - stored.left} * frame.blocks_per_mcu + (x & half);
        if (!coefficients.template decode<true>(in, blocks + at * kBlock, set[x])) return false;
      }
    }
    for (; x < end; ++x)
      if (!coefficients.template decode<false>(in, nullptr, set[x])) return false;
  }
  return !part.whole || in.ends_well();
}

template <class Masks>
bool decode_part(const ScanPart& part) {
  const bool refined = part.scan->high > 0;
  if (part.scan->count > 1)
    return refined ? decode_interleaved<true>(part) : decode_interleaved<false>(part);
  if (part.scan->first == 0)
    return refined ? decode_alone<Dc<true>>(part) : decode_alone<Dc<false>>(part);
  return refined ? decode_alone<RefinedAc<Masks>>(part) : decode_alone<FirstAc>(part);
}

ScanDecoder scan_decoder_of_target() {
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX2
  // Zen and Zen 2 have the instruction, but it takes them hundreds of cycles.
  if (__builtin_cpu_is("amdfam17h") == 0) return decode_part<FastMasks>;
#endif
  return decode_part<PlainMasks>;
}

}  // namespace
}  // namespace packhorse::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace packhorse::jpeg {

HWY_EXPORT(scan_decoder_of_target);
ScanDecoder scan_decoder() { return HWY_DYNAMIC_DISPATCH(scan_decoder_of_target)(); }

bool ScanCodes::build(const HuffmanSpec& spec, Kind kind) {
  if (spec == spec_ && kind == kind_) return true;
  spec_ = {};
  if (!spec.defined || !list.build(spec)) return false;
  lookup.fill(0);
  auto at = lookup.begin();
  std::size_t next = 0;
  for (std::uint32_t length = 1; length <= kBits; ++length) {
    for (int i = 0; i < spec.counts[length - 1]; ++i, ++next) {
      const std::uint32_t symbol = spec.symbols[next], run = symbol >> 4;
      const bool ac = kind == Kind::kAc, ends = ac && (symbol & 15) == 0 && run < 15;
      const std::uint32_t size = ends ? run : ac ? symbol & 15 : symbol;
      if (length + size > kBits) {
        at = std::fill_n(at, 1u << (kBits - length), symbol << 8 | length << 16);
        continue;
      }
      for (std::uint32_t bits = 0; bits < 1u << size; ++bits) {
        const bool negative = size != 0 && bits < 1u << (size - 1);
        const std::uint32_t value = ends       ? (1u << size) + bits
                                    : negative ? bits - (1u << size) + 1
                                               : bits;
        const std::uint32_t zeros = ends ? kEndOfBlock : ac ? run : 0;
        at = std::fill_n(at, 1u << (kBits - length - size),
                         (length + size) | zeros << 8 | value << 16);
      }
    }
  }
  spec_ = spec;
  kind_ = kind;
  return true;
}

}  // namespace packhorse::jpeg
#endif
