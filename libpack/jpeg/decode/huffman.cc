#include "jpeg/decode/huffman.h"

#include <algorithm>
#include <numeric>

namespace packhorse::jpeg {

namespace {

/// The value that `bits` stands for where `size` bits follow a code. Source: ITU-T T.81 F.2.2.1.
std::int32_t extend(std::uint32_t bits, std::uint32_t size) {
  const auto value = static_cast<std::int32_t>(bits);
  return size != 0 && bits < 1u << (size - 1) ? value - (1 << size) + 1 : value;
}

std::uint32_t as_half(std::int32_t value) {
  return static_cast<std::uint32_t>(static_cast<std::uint16_t>(value));
}

CodeEntry code_entry(std::uint32_t length, std::uint32_t size, std::uint32_t run) {
  return (length + size) | length << 8 | size << 16 | run << 24;
}

/// Calls take(length, symbol) for each code of up to `bits` bits, in order.
template <class Take>
void for_each_code(const HuffmanSpec& spec, unsigned bits, const Take& take) {
  std::size_t next = 0;
  for (std::uint32_t length = 1; length <= bits; ++length) {
    for (int i = 0; i < spec.counts[length - 1]; ++i) take(length, spec.symbols[next++]);
  }
}

/// Fills a table of 2^bits entries from front to back: codes come in order, and so do values.
template <class Entry>
class Filler {
 public:
  Filler(Entry* table, unsigned bits)
      : at_(table), end_(table + (std::size_t{1} << bits)), bits_(bits) {}

  /// Fills the next entries: those whose index begins with the same `length` bits.
  void take(std::uint32_t length, Entry entry) {
    at_ = std::fill_n(at_, std::size_t{1} << (bits_ - length), entry);
  }
  /// The same for each value of `size` bits after a code, with entry_of(value).
  template <class EntryOf>
  void take_values(std::uint32_t length, std::uint32_t size, const EntryOf& entry_of) {
    for (std::uint32_t value = 0; value < 1u << size; ++value) {
      take(length + size, entry_of(extend(value, size)));
    }
  }
  void take_rest(Entry entry) { std::fill(at_, end_, entry); }

 private:
  Entry *at_, *end_;
  unsigned bits_;
};

/// One AC symbol: bits 0..7 length, 8..15 run, 16..31 value. Where it does not fit into a lookup,
/// the length is 0, and bits 32..63 are a CodeEntry.
using Single = std::uint64_t;

/// The entry of the pair table where no second symbol fits after `single`.
std::uint64_t lone_entry(Single single) {
  const Single length = single & 255, run = single >> 8 & 255, value = single >> 16;
  if (run == kEndOfBlock) return length | std::uint64_t{kEndOfBlock} << 24;  // stores a zero
  return length | run << 8 | run << 16 | (run + 1) << 24 | value << 32 | value << 48;
}

/// The same where `second` fits, too. `lone` must not end the block.
std::uint64_t pair_entry(std::uint64_t lone, Single second) {
  const Single length = second & 255, run = second >> 8 & 255, value = second >> 16;
  if (run == kEndOfBlock) return lone + (length | std::uint64_t{kEndOfBlock} << 24);
  constexpr std::uint64_t kValue = std::uint64_t{0xffff} << 48;
  return (lone & ~kValue) + (length | (run + 1) << 16 | (run + 1) << 24) + (value << 48);
}

}  // namespace

bool CodeList::build(const HuffmanSpec& spec) {
  std::uint32_t code = 0;
  std::int32_t next = 0;
  end[0] = 0;
  for (std::uint32_t length = 1; length <= 16; ++length, code <<= 1) {
    const std::uint32_t count = spec.counts[length - 1];
    first[length] = next - static_cast<std::int32_t>(code);
    code += count;
    next += static_cast<std::int32_t>(count);
    if (count != 0 && code >= 1u << length) return false;  // all ones is no code
    end[length] = count != 0 ? code << (16 - length) : end[length - 1];
  }
  symbols = spec.symbols;
  return true;
}

bool DcTable::build(const HuffmanSpec& spec) {
  if (!list.build(spec)) return false;
  const auto last =
      spec.symbols.begin() + std::accumulate(spec.counts.begin(), spec.counts.end(), 0);
  const bool valid =
      std::all_of(spec.symbols.begin(), last, [](auto symbol) { return symbol < 16; });
  if (!valid) return false;
  Filler filler(differences.data(), kBits);
  for_each_code(spec, kBits, [&](std::uint32_t length, std::uint32_t size) {
    if (size <= kMaxDcBits && length + size <= kBits) {
      filler.take_values(
          length, size, [&](std::int32_t value) { return (length + size) | as_half(value) << 16; });
    } else {
      const CodeEntry entry = size <= kMaxDcBits ? code_entry(length, size, 0) : kInvalidCode;
      filler.take(length, std::uint64_t{entry} << 32);
    }
  });
  filler.take_rest(0);
  return true;
}

bool AcTable::build(const HuffmanSpec& spec, unsigned bits) {
  if (!list.build(spec)) return false;
  std::array<Single, 1 << kInterleavedBits> singles;
  Filler filler(singles.data(), bits);
  for_each_code(spec, bits, [&](std::uint32_t length, std::uint32_t symbol) {
    const std::uint32_t size = symbol & 15;
    const std::uint32_t run = size == 0 && symbol != 0xf0 ? kEndOfBlock : symbol >> 4;
    if (size <= kMaxAcBits && length + size <= bits) {
      filler.take_values(length, size, [&](std::int32_t value) {
        return (length + size) | run << 8 | as_half(value) << 16;
      });
    } else {
      const CodeEntry entry = size <= kMaxAcBits ? code_entry(length, size, run) : kInvalidCode;
      filler.take(length, Single{entry} << 32);
    }
  });
  filler.take_rest(0);
  for (std::size_t i = 0; i < std::size_t{1} << bits;) {
    const auto length = static_cast<unsigned>(singles[i] & 255), rest = bits - length;
    if (length == 0) {
      pairs[i] = singles[i];
      ++i;
      continue;
    }
    const std::uint64_t lone = lone_entry(singles[i]);
    const std::size_t count = std::size_t{1} << rest;  // entries that begin with it
    const bool ends = (lone >> 24 & kEndOfBlock) != 0;
    for (std::size_t behind = 0; behind < count; ++behind) {
      const Single second = singles[behind << length];
      const bool fits = !ends && (second & 255) != 0 && (second & 255) <= rest;
      pairs[i + behind] = fits ? pair_entry(lone, second) : lone;
    }
    i += count;
  }
  return true;
}

/// Whether all tables of a frame are there, the AC tables with `ac_bits`.
bool Tables::are_of(const Frame& frame, unsigned ac_bits) const {
  const auto end = frame.component.begin() + frame.components;
  return std::all_of(frame.component.begin(), end, [&](const Component& c) {
    return dc_specs_[c.dc] == frame.dc[c.dc] && ac_specs_[c.ac] == frame.ac[c.ac] &&
           ac_bits_[c.ac] == ac_bits;
  });
}

bool Tables::prepare(const Frame& frame, unsigned ac_bits, std::size_t scan_bytes) {
  // Building a table of all bits takes as long as it saves in scans of this length.
  constexpr std::size_t kShortScan = 4096;
  constexpr std::size_t kSameTables = 16;  // after so many short scans, expect more of them
  bits_ = ac_bits;
  if (are_of(frame, ac_bits)) return true;
  if (scan_bytes < kShortScan) {
    short_scans_ = are_of(frame, AcTable::kShortBits) ? short_scans_ + 1 : 0;
    if (short_scans_ < kSameTables) bits_ = AcTable::kShortBits;
  }
  for (std::uint32_t i = 0; i < frame.components; ++i) {
    const Component& c = frame.component[i];
    if (dc_specs_[c.dc] != frame.dc[c.dc]) {
      dc_specs_[c.dc].defined = false;
      if (!dc_[c.dc].build(frame.dc[c.dc])) return false;
      dc_specs_[c.dc] = frame.dc[c.dc];
    }
    if (ac_specs_[c.ac] != frame.ac[c.ac] || ac_bits_[c.ac] != bits_) {
      ac_specs_[c.ac].defined = false;
      if (!ac_[c.ac].build(frame.ac[c.ac], bits_)) return false;
      ac_specs_[c.ac] = frame.ac[c.ac];
      ac_bits_[c.ac] = bits_;
    }
  }
  return true;
}

}  // namespace packhorse::jpeg
