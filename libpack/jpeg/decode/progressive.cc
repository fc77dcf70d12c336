#include "jpeg/decode/progressive.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "jpeg/decode/huffman.h"
#include "packhorse/jpeg/segments.h"

namespace packhorse::jpeg {

namespace {

// The values of pictures of 8 bits (T.81, F.1.2): others would not fit into a baseline scan.
constexpr std::int32_t kMostAc = 1023, kLeastDc = -1024, kMostDc = 1023;
constexpr std::uint32_t kMostShift = 13;
/// Bytes behind a scan that may be read: those of a block, damaged or not, and some words.
constexpr std::size_t kPadding = 512;
constexpr std::uint32_t kMostScans = 50;  // real files have about ten

/// The next bits of a scan without stuffing. Reading beyond the end is found when it has happened:
/// kPadding bytes after it are readable.
class Bits {
 public:
  Bits(const std::uint8_t* begin, const std::uint8_t* end) : next_(begin), end_(end) { refill(); }

  /// At least 56 bits are valid afterwards.
  void refill() {
    std::uint64_t word;
    std::memcpy(&word, next_, sizeof word);
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
    bits_ |= word >> valid_;
    next_ += (63 - valid_) >> 3;
    valid_ |= 56;
  }
  /// Makes at least 32 bits valid.
  void need_word() {
    if (valid_ < 32) refill();
  }
  std::uint32_t peek(std::uint32_t count) const {
    return static_cast<std::uint32_t>(bits_ >> (64 - count));
  }
  void skip(std::uint32_t count) {
    bits_ <<= count;
    valid_ -= count;
  }
  /// From 1 to 32 bits.
  std::uint32_t take(std::uint32_t count) {
    const std::uint32_t value = peek(count);
    skip(count);
    return value;
  }
  std::uint32_t take_bit() {
    if (valid_ == 0) refill();
    return take(1);
  }
  bool within() const { return next_ <= end_ + sizeof(std::uint64_t); }
  /// Whether all bytes have been used, and none beyond.
  bool ends_well() const {
    const std::int64_t left = (end_ - next_) * 8 + static_cast<std::int64_t>(valid_);
    return left >= 0 && left < 8;
  }

 private:
  std::uint64_t bits_ = 0;
  std::uint32_t valid_ = 0;
  const std::uint8_t *next_, *end_;
};

/// A Huffman table: a lookup of the next bits, and the list of longer codes.
class Codes {
 public:
  /// False where libjpeg would refuse the table.
  bool build(const HuffmanSpec& spec) {
    if (spec == spec_) return true;
    spec_ = {};
    if (!spec.defined || !list_.build(spec)) return false;
    lookup_.fill(0);
    std::size_t next = 0;
    std::uint32_t at = 0;
    for (std::uint32_t length = 1; length <= kBits; ++length) {
      for (int i = 0; i < spec.counts[length - 1]; ++i, ++next) {
        const std::uint32_t count = 1u << (kBits - length);
        const auto entry = static_cast<std::uint16_t>(length << 8 | spec.symbols[next]);
        std::fill_n(lookup_.begin() + at, count, entry);
        at += count;
      }
    }
    spec_ = spec;
    return true;
  }

  /// Takes the next symbol; -1 when there is no such code. Needs 16 valid bits.
  int take(Bits& bits) const {
    const std::uint32_t entry = lookup_[bits.peek(kBits)];
    if (entry != 0) [[likely]] {
      bits.skip(entry >> 8);
      return static_cast<int>(entry & 255);
    }
    const std::uint32_t word = bits.peek(16);
    for (std::uint32_t length = kBits + 1; length <= 16; ++length) {
      if (word >= list_.end[length]) continue;
      const auto index = static_cast<std::int32_t>(word >> (16 - length)) + list_.first[length];
      bits.skip(length);
      return list_.symbols[static_cast<std::uint32_t>(index) & 255];
    }
    return -1;
  }

 private:
  static constexpr std::uint32_t kBits = 9;
  HuffmanSpec spec_{};
  std::array<std::uint16_t, 1 << kBits> lookup_{};  ///< length of the code, and symbol; 0: longer
  CodeList list_;
};

/// T.81's EXTEND: the value of `size` bits, 1 to 15.
std::int32_t extended(std::uint32_t bits, std::uint32_t size) {
  const auto value = static_cast<std::int32_t>(bits);
  return value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
}

/// What one SOS says.
struct Scan {
  std::uint32_t count = 0;
  std::array<std::uint32_t, kMaxComponents> component{}, dc{};
  std::uint32_t ac = 0;
  std::uint32_t first = 0, last = 0;  ///< of the coefficients, in zigzag order
  std::uint32_t high = 0, low = 0;    ///< the bits sent before, and those left after
};

/// One picture's scans.
class Scans {
 public:
  Scans(Bytes file, HeaderParser& parser, const Frame& frame, const Kernels& kernels,
        ProgressiveMemory& memory)
      : file_(file), parser_(parser), frame_(frame), kernels_(kernels), memory_(memory) {
    const std::size_t blocks = std::size_t{frame.mcus()} * frame.blocks_per_mcu;
    blocks_ = memory.blocks.reserve(blocks * kBlock);
    last_ = memory.last.reserve(blocks);
    set_ = memory.set.reserve(blocks);
    std::memset(blocks_, 0, blocks * kBlock * sizeof *blocks_);
    std::memset(set_, 0, blocks * sizeof *set_);
    for (auto& bits : sent_) bits.fill(-1);
    std::uint32_t first = 0;
    for (std::uint32_t i = 0; i < frame.components; ++i) {
      first_block_[i] = first;
      first += frame.component[i].h * frame.component[i].v;
    }
  }

  bool decode() {
    Bytes header = frame_.scan_header;
    std::size_t at = frame_.scan;
    for (std::uint32_t scans = 0; scans < kMostScans; ++scans) {
      Scan scan;
      if (!parse(header, scan) || !may_follow(scan) || !build_tables(scan)) return false;
      if (!decode_scan(scan, at)) return false;
      bool more = false;
      if (!next_header(at, header, more)) return false;
      if (!more) {
        find_last();
        return is_complete();
      }
    }
    return false;
  }

  Coefficients coefficients() const { return {blocks_, last_}; }

 private:
  bool parse(Bytes body, Scan& scan) const;
  bool may_follow(const Scan& scan);
  bool build_tables(const Scan& scan);
  bool decode_scan(const Scan& scan, std::size_t& at);
  bool next_header(std::size_t& at, Bytes& header, bool& more);
  bool is_complete() const;
  void find_last();

  bool decode_segment(const Scan& scan, Bits bits, std::uint32_t from, std::uint32_t to);
  bool dc_block(const Scan& scan, std::uint32_t which, Bits& bits, std::size_t block);
  bool ac_first(const Scan& scan, Bits& bits, std::size_t block);
  bool ac_refined(const Scan& scan, Bits& bits, std::size_t block);
  static void refine(std::int16_t* block, std::uint64_t which, std::int32_t bit, Bits& bits);

  std::uint32_t blocks_wide(const Component& c) const {
    return (frame_.width * c.h + 8 * frame_.h - 1) / (8 * frame_.h);
  }
  std::uint32_t blocks_high(const Component& c) const {
    return (frame_.height * c.v + 8 * frame_.v - 1) / (8 * frame_.v);
  }
  /// How many units of a scan there are: MCUs, or the blocks of a lone component.
  std::uint32_t units(const Scan& scan) const {
    if (scan.count > 1) return frame_.mcus();
    const Component& c = frame_.component[scan.component[0]];
    return blocks_wide(c) * blocks_high(c);
  }

  Bytes file_;
  HeaderParser& parser_;
  const Frame& frame_;
  const Kernels& kernels_;
  ProgressiveMemory& memory_;
  std::int16_t* blocks_;
  std::uint8_t* last_;
  std::uint64_t* set_;  ///< of each block, the AC coefficients that are not zero, in zigzag order
  std::array<std::uint32_t, kMaxComponents> first_block_{};  ///< in an MCU
  /// How many bits of each coefficient are still to come; -1: none has been sent.
  std::array<std::array<std::int8_t, kBlock>, kMaxComponents> sent_{};
  std::array<Codes, 4> dc_, ac_;
  std::array<std::uint32_t, kMaxComponents> predicted_{};  ///< DC, modulo 2^32
  std::uint32_t ended_ = 0;  ///< blocks whose coefficients have ended, the current one with them
};

bool Scans::parse(Bytes body, Scan& scan) const {
  if (body.empty()) return false;
  scan.count = byte_at(body, 0);
  if (scan.count < 1 || scan.count > frame_.components || body.size() != 4 + 2 * scan.count)
    return false;
  for (std::uint32_t i = 0; i < scan.count; ++i) {
    const std::uint8_t id = byte_at(body, 1 + 2 * i), tables = byte_at(body, 2 + 2 * i);
    std::uint32_t found = 0;
    while (found < frame_.components && frame_.component[found].id != id) ++found;
    // libjpeg takes them in any order, but then MCUs have another one.
    if (found == frame_.components || (i > 0 && found <= scan.component[i - 1])) return false;
    scan.component[i] = found;
    scan.dc[i] = tables >> 4;
    scan.ac = tables & 15;
  }
  const std::size_t at = 1 + 2 * scan.count;
  scan.first = byte_at(body, at);
  scan.last = byte_at(body, at + 1);
  scan.high = byte_at(body, at + 2) >> 4;
  scan.low = byte_at(body, at + 2) & 15;
  // An interleaved scan of some components has MCUs of its own.
  if (scan.count > 1 && scan.count != frame_.components) return false;
  if (scan.first == 0 ? scan.last != 0 : scan.last < scan.first || scan.last >= kBlock)
    return false;
  if (scan.first > 0 && scan.count != 1) return false;
  return scan.low <= kMostShift && (scan.high == 0 || scan.low + 1 == scan.high);
}

/// Each scan must go on where the last one of its coefficients ended: for anything else libjpeg
/// warns.
bool Scans::may_follow(const Scan& scan) {
  for (std::uint32_t i = 0; i < scan.count; ++i) {
    auto& sent = sent_[scan.component[i]];
    if (scan.first > 0 && sent[0] < 0) return false;
    for (std::uint32_t k = scan.first; k <= scan.last; ++k) {
      const int expected = std::max<int>(sent[k], 0);
      if (static_cast<int>(scan.high) != expected) return false;
      sent[k] = static_cast<std::int8_t>(scan.low);
    }
  }
  return true;
}

bool Scans::build_tables(const Scan& scan) {
  if (scan.first > 0) return scan.ac < 4 && ac_[scan.ac].build(frame_.ac[scan.ac]);
  for (std::uint32_t i = 0; i < scan.count && scan.high == 0; ++i)
    if (scan.dc[i] >= 4 || !dc_[scan.dc[i]].build(frame_.dc[scan.dc[i]])) return false;
  return true;
}

/// Decodes the entropy-coded bytes at `at`, and moves it to the marker behind them.
bool Scans::decode_scan(const Scan& scan, std::size_t& at) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(file_.data());
  const std::uint8_t *from = bytes + at, *const end = bytes + file_.size();
  const std::uint32_t all = units(scan);
  const std::uint32_t interval = frame_.restart_interval != 0 ? frame_.restart_interval : all;
  std::uint8_t* const memory =
      memory_.scan.reserve(static_cast<std::size_t>(end - from) + kPadding + kKernelSlack);
  for (std::uint32_t done = 0, restarts = 0; done < all; done += interval, ++restarts) {
    if (done > 0) {
      if (end - from < 2 || from[0] != 0xff || from[1] != kRst0 + ((restarts - 1) & 7))
        return false;
      from += 2;
    }
    const Unstuffed copied = kernels_.unstuff(from, end, memory);
    predicted_.fill(0);
    ended_ = 0;
    const std::uint32_t to = interval < all - done ? done + interval : all;
    if (!decode_segment(scan, Bits(memory, copied.out), done, to)) return false;
    from = copied.stop;
  }
  at = static_cast<std::size_t>(from - bytes);
  return true;
}

/// Decodes the units [from, to), which lie between two markers. Nothing else knows where `bits` is,
/// so that it may live in registers.
bool Scans::decode_segment(const Scan& scan, Bits bits, std::uint32_t from, std::uint32_t to) {
  if (scan.count > 1) {
    for (std::uint32_t mcu = from; mcu < to; ++mcu) {
      std::size_t block = std::size_t{mcu} * frame_.blocks_per_mcu;
      for (std::uint32_t i = 0; i < scan.count; ++i) {
        const Component& c = frame_.component[i];
        for (std::uint32_t b = 0; b < c.h * c.v; ++b)
          if (!dc_block(scan, i, bits, block++)) return false;
      }
    }
    return bits.ends_well();
  }
  const std::uint32_t component = scan.component[0];
  const Component& c = frame_.component[component];
  const std::uint32_t wide = blocks_wide(c);
  const std::uint32_t half = c.h / 2;  // factors are 1 or 2: an MCU has 1 << half blocks in a row
  const auto each = [&](const auto& decode_block) {
    std::uint32_t x = from % wide, y = from / wide;
    for (std::uint32_t unit = from; unit < to; ++y, x = 0) {
      const std::size_t row = std::size_t{y / c.v} * frame_.mcus_per_row * frame_.blocks_per_mcu +
                              first_block_[component] + std::size_t{y % c.v} * c.h;
      const std::uint32_t end = std::min(wide, x + (to - unit));
      unit += end - x;
      for (; x < end; ++x)
        if (!decode_block(row + std::size_t{x >> half} * frame_.blocks_per_mcu + (x & half)))
          return false;
    }
    return bits.ends_well();
  };
  if (scan.first == 0) return each([&](std::size_t b) { return dc_block(scan, 0, bits, b); });
  if (scan.high > 0) return each([&](std::size_t b) { return ac_refined(scan, bits, b); });
  return each([&](std::size_t b) { return ac_first(scan, bits, b); });
}

[[gnu::always_inline]] inline bool Scans::dc_block(const Scan& scan, std::uint32_t which,
                                                   Bits& bits, std::size_t block) {
  std::int16_t& coefficient = blocks_[block * kBlock];
  if (scan.high > 0) {
    if (bits.take_bit() != 0) coefficient = static_cast<std::int16_t>(coefficient | 1 << scan.low);
    return bits.within();
  }
  bits.need_word();
  const int size = dc_[scan.dc[which]].take(bits);
  if (size < 0 || size > 15) return false;
  if (size > 0) {
    const auto count = static_cast<std::uint32_t>(size);
    predicted_[scan.component[which]] +=
        static_cast<std::uint32_t>(extended(bits.take(count), count));
  }
  const auto value = static_cast<std::int32_t>(predicted_[scan.component[which]]);
  if (value < kLeastDc >> scan.low || value > kMostDc >> scan.low) return false;
  coefficient = static_cast<std::int16_t>(value * (1 << scan.low));
  return bits.within();
}

[[gnu::always_inline]] inline bool Scans::ac_first(const Scan& scan, Bits& bits,
                                                   std::size_t block) {
  if (ended_ > 0) {
    --ended_;
    return true;
  }
  const Codes& codes = ac_[scan.ac];
  std::int16_t* const to = blocks_ + block * kBlock;
  for (std::uint32_t k = scan.first; k <= scan.last; ++k) {
    bits.need_word();
    const int symbol = codes.take(bits);
    if (symbol < 0) return false;
    const auto code = static_cast<std::uint32_t>(symbol), run = code >> 4, size = code & 15;
    if (size > 0) {
      k += run;
      const std::int32_t value = extended(bits.take(size), size) * (1 << scan.low);
      if (k > scan.last || value < -kMostAc || value > kMostAc) return false;
      to[kZigzag[k]] = static_cast<std::int16_t>(value);
      set_[block] |= std::uint64_t{1} << k;
    } else if (run == 15) {
      k += 15;
    } else {
      ended_ = (1u << run) - 1;
      if (run > 0) ended_ += bits.take(run);
      break;
    }
  }
  return bits.within();
}

/// Reads one more bit of each of these coefficients, which are not zero, in zigzag order.
[[gnu::always_inline]] inline void Scans::refine(std::int16_t* block, std::uint64_t which,
                                                 std::int32_t bit, Bits& bits) {
  while (which != 0) {
    constexpr int kMost = 32;
    bits.need_word();
    const int count = std::min(std::popcount(which), kMost);
    std::uint32_t added = bits.take(static_cast<std::uint32_t>(count))
                          << static_cast<unsigned>(kMost - count);
    for (int i = 0; i < count; ++i, added <<= 1, which &= which - 1) {
      std::int16_t& coefficient = block[kZigzag[static_cast<unsigned>(std::countr_zero(which))]];
      // Away from zero, without a branch: nobody can guess these bits.
      const std::int32_t sign = coefficient >> 15, taken = -static_cast<std::int32_t>(added >> 31);
      coefficient = static_cast<std::int16_t>(coefficient + (((bit ^ sign) - sign) & taken));
    }
  }
}

[[gnu::always_inline]] inline bool Scans::ac_refined(const Scan& scan, Bits& bits,
                                                     std::size_t block) {
  const Codes& codes = ac_[scan.ac];
  std::int16_t* const to = blocks_ + block * kBlock;
  const std::int32_t bit = 1 << scan.low;
  const std::uint64_t upto_last = ~std::uint64_t{0} >> (63 - scan.last);
  std::uint64_t ahead = upto_last & ~std::uint64_t{0} << scan.first;  // places still to come
  while (ended_ == 0 && ahead != 0) {
    bits.need_word();
    const int symbol = codes.take(bits);
    if (symbol < 0) return false;
    const auto code = static_cast<std::uint32_t>(symbol), size = code & 15;
    std::uint32_t run = code >> 4;
    std::int16_t value = 0;
    if (size > 1) return false;  // a warning
    if (size == 1) {
      value = static_cast<std::int16_t>(bits.take(1) != 0 ? bit : -bit);
    } else if (run != 15) {
      ended_ = 1u << run;
      if (run > 0) ended_ += bits.take(run);
      break;
    }
    // Passes over `run` zeros to the place of the next, and refines what lies before it.
    std::uint64_t zeros = ahead & ~set_[block];
    for (; run > 0; --run) zeros &= zeros - 1;
    const std::uint64_t place = zeros & (0 - zeros);  // none: beyond the last
    const std::uint64_t before = ahead & (place - 1);
    refine(to, before & set_[block], bit, bits);
    if (!bits.within()) return false;
    ahead &= ~(before | place);
    if (value == 0) continue;
    if (place == 0) return false;
    to[kZigzag[static_cast<unsigned>(std::countr_zero(place))]] = value;
    set_[block] |= place;
  }
  if (ended_ > 0) {
    refine(to, ahead & set_[block], bit, bits);
    --ended_;
  }
  return bits.within();
}

/// Takes the segments from `at` on, up to the next SOS or EOI. `more`: it is SOS. Metadata is not
/// looked for between scans, so it must not be there.
bool Scans::next_header(std::size_t& at, Bytes& header, bool& more) {
  SegmentWalk walk(file_.subspan(at - 2));  // which passes over two bytes
  while (const std::optional<Segment> segment = walk.next()) {
    more = segment->marker == kSos;
    if (segment->marker == kEoi) return true;
    if (more) {
      header = segment->body;
      at = at - 2 + segment->end;
      return true;
    }
    if (segment->marker != kDht && segment->marker != kDri) return false;
    if (parser_.take(segment->marker, segment->body) != Reason::kNone) return false;
  }
  return false;
}

/// DC counts as set.
void Scans::find_last() {
  const std::size_t blocks = std::size_t{frame_.mcus()} * frame_.blocks_per_mcu;
  for (std::size_t i = 0; i < blocks; ++i)
    last_[i] = static_cast<std::uint8_t>(64 - std::countl_zero(set_[i] | 1));
}

bool Scans::is_complete() const {
  for (std::uint32_t i = 0; i < frame_.components; ++i)
    for (const std::int8_t left : sent_[i])
      if (left != 0) return false;
  return true;
}

}  // namespace

Reason decode_progressive(Bytes file, HeaderParser& parser, const Frame& frame,
                          const Kernels& kernels, ProgressiveMemory& memory,
                          Coefficients& coefficients) {
  // Each block's first coefficient takes a bit at least: no small file asks for much memory.
  const std::size_t blocks = std::size_t{frame.mcus()} * frame.blocks_per_mcu;
  if (blocks / 8 > file.size()) return Reason::kProgressive;
  const auto scans = std::make_unique<Scans>(file, parser, frame, kernels, memory);
  if (!scans->decode()) return Reason::kProgressive;
  coefficients = scans->coefficients();
  return Reason::kNone;
}

}  // namespace packhorse::jpeg
