#include "huffman.h"

#include <algorithm>

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

/// Calls take(code, length, symbol) for each code of up to `bits` bits, in order.
template <class Take>
void for_each_code(const HuffmanSpec& spec, unsigned bits, const Take& take) {
  std::uint32_t code = 0;
  std::size_t next = 0;
  for (std::uint32_t length = 1; length <= bits; ++length, code <<= 1) {
    for (int i = 0; i < spec.counts[length - 1]; ++i) take(code++, length, spec.symbols[next++]);
  }
}

/// Fills the entries of a code of `length` bits, or of a code and value together.
template <class T, std::size_t N>
void fill(std::array<T, N>& table, unsigned bits, std::uint32_t code, std::uint32_t length,
          T entry) {
  const std::size_t width = std::size_t{1} << (bits - length);
  std::fill_n(table.begin() + static_cast<std::ptrdiff_t>(code * width), width, entry);
}

/// Calls take(code and value, length of both, value) for each value that fits into `bits` bits.
template <class Take>
void for_each_value(unsigned bits, std::uint32_t code, std::uint32_t length, std::uint32_t size,
                    const Take& take) {
  if (length + size > bits) return;
  for (std::uint32_t value = 0; value < 1u << size; ++value) {
    take(code << size | value, length + size, extend(value, size));
  }
}

CodeEntry code_entry(std::uint32_t length, std::uint32_t size, std::uint32_t run) {
  return (length + size) | length << 8 | size << 16 | run << 24;
}

/// One AC symbol: bits 0..7 length, 8..15 run, 16..31 value.
using Single = std::uint32_t;

/// What the pair table has where `first` is followed by `second` (0: by nothing that fits).
std::uint64_t pair_entry(Single first, Single second, unsigned bits) {
  const std::uint64_t length = first & 255, run = first >> 8 & 255, value = first >> 16;
  if (run == kEndOfBlock) return length | std::uint64_t{kEndOfBlock} << 24;  // stores a zero
  const std::uint64_t length2 = second & 255, run2 = second >> 8 & 255;
  if (length2 == 0 || length + length2 > bits) {
    return length | run << 8 | run << 16 | (run + 1) << 24 | value << 32 | value << 48;
  }
  if (run2 == kEndOfBlock) {
    return (length + length2) | run << 8 | run << 16 | (run + 1 + kEndOfBlock) << 24 | value << 32 |
           value << 48;
  }
  const std::uint64_t at2 = run + 1 + run2;
  return (length + length2) | run << 8 | at2 << 16 | (at2 + 1) << 24 | value << 32 |
         std::uint64_t{second >> 16} << 48;
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
  values.fill(0);
  codes.fill(0);
  bool valid = true;
  for_each_code(spec, 16, [&](std::uint32_t code, std::uint32_t length, std::uint32_t symbol) {
    if (symbol > 15) valid = false;
    if (length > kBits) return;
    if (symbol > kMaxDcBits) return fill(codes, kBits, code, length, kInvalidCode);
    fill(codes, kBits, code, length, code_entry(length, symbol, 0));
    for_each_value(kBits, code, length, symbol,
                   [&](std::uint32_t bits, std::uint32_t both, std::int32_t value) {
                     fill(values, kBits, bits, both, both | as_half(value) << 16);
                   });
  });
  return valid;
}

bool AcTable::build(const HuffmanSpec& spec, unsigned bits) {
  if (!list.build(spec)) return false;
  std::array<Single, 1 << kInterleavedBits> singles{};
  pairs.fill(0);
  for_each_code(spec, bits, [&](std::uint32_t code, std::uint32_t length, std::uint32_t symbol) {
    const std::uint32_t size = symbol & 15;
    const std::uint32_t run = size == 0 && symbol != 0xf0 ? kEndOfBlock : symbol >> 4;
    const bool valid = size <= kMaxAcBits;
    const CodeEntry entry = valid ? code_entry(length, size, run) : kInvalidCode;
    fill(pairs, bits, code, length, std::uint64_t{entry} << 32);
    if (!valid) return;
    for_each_value(bits, code, length, size,
                   [&](std::uint32_t read, std::uint32_t both, std::int32_t value) {
                     fill(singles, bits, read, both, both | run << 8 | as_half(value) << 16);
                   });
  });
  for (std::uint32_t i = 0; i < 1u << bits; ++i) {
    if (singles[i] == 0) continue;
    const std::uint32_t behind = (i << (singles[i] & 255)) & ((1u << bits) - 1);
    pairs[i] = pair_entry(singles[i], singles[behind], bits);
  }
  return true;
}

bool Tables::prepare(const Frame& frame, unsigned ac_bits) {
  for (std::uint32_t i = 0; i < frame.components; ++i) {
    const Component& c = frame.component[i];
    if (dc_specs_[c.dc] != frame.dc[c.dc]) {
      dc_specs_[c.dc].defined = false;
      if (!dc_[c.dc].build(frame.dc[c.dc])) return false;
      dc_specs_[c.dc] = frame.dc[c.dc];
    }
    if (ac_specs_[c.ac] != frame.ac[c.ac] || ac_bits_[c.ac] != ac_bits) {
      ac_specs_[c.ac].defined = false;
      if (!ac_[c.ac].build(frame.ac[c.ac], ac_bits)) return false;
      ac_specs_[c.ac] = frame.ac[c.ac];
      ac_bits_[c.ac] = ac_bits;
    }
  }
  return true;
}

}  // namespace packhorse::jpeg
