#include "jpeg/encode/scan_coder.h"

#include <bit>
#include <cstring>
#include <limits>

#include "packhorse/base/error.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace packhorse::encode {

namespace {

// A token: which of the four tables (2 bits), symbol (8), and the bits that follow its code (16).
constexpr unsigned kSymbolShift = 16, kTableShift = 24;
constexpr std::size_t kMostTokensOfBlock = 66;
constexpr int kMostDcBits = 11, kMostAcBits = 10;  // T.81 F.1.2, for 8-bit samples
constexpr std::uint32_t kEndOfBlock = 0x00, kSixteenZeros = 0xf0;

/// Bit i is set when coefficient i, row by row, is not zero.
std::uint64_t nonzero_mask(const Block& block) {
  std::uint64_t mask = 0;
#if defined(__SSE2__)
  const __m128i zero = _mm_setzero_si128();
  for (int i = 0; i < 4; ++i) {
    const auto* at = reinterpret_cast<const __m128i*>(block) + std::ptrdiff_t{2} * i;
    const __m128i low = _mm_cmpeq_epi16(_mm_loadu_si128(at), zero);
    const __m128i high = _mm_cmpeq_epi16(_mm_loadu_si128(at + 1), zero);
    const auto zeros = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
    mask |= std::uint64_t{~zeros & 0xffff} << (16 * i);
  }
#else
  for (std::size_t i = 0; i < kBlock; ++i) mask |= std::uint64_t{block[i] != 0} << i;
#endif
  return mask;
}

/// Where the bits of each byte of a mask in row order go in zigzag order.
using MaskOrder = std::array<std::array<std::uint64_t, 256>, 8>;

constexpr MaskOrder make_mask_order() {
  std::array<unsigned, kBlock> place{};
  for (unsigned k = 0; k < kBlock; ++k) place[kZigzag[k]] = k;
  MaskOrder order{};
  for (std::size_t row = 0; row < 8; ++row) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      for (std::size_t bit = 0; bit < 8; ++bit) {
        if ((byte >> bit & 1) != 0) order[row][byte] |= std::uint64_t{1} << place[row * 8 + bit];
      }
    }
  }
  return order;
}

constexpr MaskOrder kMaskOrder = make_mask_order();

std::uint64_t to_zigzag(std::uint64_t mask) {
  std::uint64_t ordered = 0;
  for (std::size_t row = 0; row < 8; ++row) ordered |= kMaskOrder[row][mask >> (8 * row) & 0xff];
  return ordered;
}

// Signs are as good as random, so nothing here may branch on them.
int bits_of(int value) {
  const int sign = value >> 31;
  return static_cast<int>(std::bit_width(static_cast<unsigned>((value ^ sign) - sign)));
}

/// The bits that follow a code of `bits` bits of magnitude: negative numbers in one's complement.
std::uint32_t magnitude(int value, int bits) {
  return static_cast<std::uint32_t>(value + (value >> 31)) & ((1u << bits) - 1);
}

[[noreturn]] void refuse_coefficient() {
  throw Error(ErrorKind::kCorrupt, "damaged JPEG: a coefficient is out of range");
}

}  // namespace

void ScanCoder::start(const Frame& frame, std::size_t max_code_bits) {
  frame_ = &frame;
  max_code_bits_ = max_code_bits;
  token_count_ = 0;
  segment_ends_.clear();
  mcu_row_ = 0;
  for (std::size_t c = 0; c < frame.count; ++c) {
    wide_[c] = frame.blocks_wide(c);
    high_[c] = frame.blocks_high(c);
  }
  for (Counts& counts : counts_) counts.fill(0);
}

ScanCoder::Token* ScanCoder::add_dc(int difference, std::size_t table, Token* out) {
  const int bits = bits_of(difference);
  if (bits > kMostDcBits) refuse_coefficient();
  ++counts_[table][static_cast<std::size_t>(bits)];
  *out++ = static_cast<Token>(table << kTableShift) | static_cast<Token>(bits) << kSymbolShift |
           magnitude(difference, bits);
  return out;
}

ScanCoder::Token* ScanCoder::add_block(const Block& block, std::size_t component, Token* out) {
  const std::size_t table = table_of(component);
  out = add_dc(block[0] - previous_dc_[component], table, out);
  previous_dc_[component] = block[0];

  Counts& counts = counts_[2 + table];
  const Token ac = static_cast<Token>((2 + table) << kTableShift);
  std::uint64_t mask = to_zigzag(nonzero_mask(block)) & ~std::uint64_t{1};
  int last = 0;
  for (; mask != 0; mask &= mask - 1) {
    const int k = std::countr_zero(mask);
    int zeros = k - last - 1;
    last = k;
    for (; zeros > 15; zeros -= 16) {
      ++counts[kSixteenZeros];
      *out++ = ac | kSixteenZeros << kSymbolShift;
    }
    const int value = block[kZigzag[static_cast<std::size_t>(k)]];
    const int bits = bits_of(value);
    if (bits > kMostAcBits) refuse_coefficient();
    const auto symbol = static_cast<std::uint32_t>(zeros << 4 | bits);
    ++counts[symbol];
    *out++ = ac | symbol << kSymbolShift | magnitude(value, bits);
  }
  if (last != 63) {
    ++counts[kEndOfBlock];
    *out++ = ac | kEndOfBlock << kSymbolShift;
  }
  return out;
}

void ScanCoder::close_segment(const Token* end) {
  segment_ends_.push_back(static_cast<std::size_t>(end - tokens_.data()));
  previous_dc_.fill(0);
}

/// `block_at(c, x, y)`: block of component `c`, in MCU order; null beyond the picture's edge.
template <class BlockAt>
void ScanCoder::add_row(const BlockAt& block_at) {
  // Beyond the picture's edge an MCU is filled with flat blocks: the cheapest, and never seen.
  static constexpr Block kNothing = {};
  const Frame& frame = *frame_;
  const std::uint32_t mcus = frame.mcus_per_row();
  Token* out = tokens_.reserve(
                   token_count_ + std::size_t{mcus} * frame.blocks_per_mcu() * kMostTokensOfBlock,
                   token_count_) +
               token_count_;
  previous_dc_.fill(0);
  for (std::uint32_t mcu = 0; mcu < mcus; ++mcu) {
    for (std::size_t c = 0; c < frame.count; ++c) {
      const std::uint32_t h = frame.mcu_h(c), v = frame.mcu_v(c);
      for (std::uint32_t y = 0; y < v; ++y) {
        for (std::uint32_t x = mcu * h; x < (mcu + 1) * h; ++x) {
          if (const Block* block = block_at(c, x, y)) {
            out = add_block(*block, c, out);
          } else {
            const int dc = previous_dc_[c];
            previous_dc_[c] = 0;
            out = add_block(kNothing, c, out);
            previous_dc_[c] = dc;
          }
        }
      }
    }
    if ((mcu + 1) % frame.restart_interval == 0) close_segment(out);
  }
  token_count_ = static_cast<std::size_t>(out - tokens_.data());
  ++mcu_row_;
}

void ScanCoder::add_mcu_row(const BlockRows& rows) {
  add_row([&](std::size_t c, std::uint32_t x, std::uint32_t y) -> const Block* {
    return rows[c][y] != nullptr && x < wide_[c] ? rows[c][y] + x : nullptr;
  });
}

void ScanCoder::add_mcu_row(const Block* blocks) {
  add_row([&](std::size_t c, std::uint32_t x, std::uint32_t y) -> const Block* {
    const Block* block = blocks++;
    const bool within = x < wide_[c] && mcu_row_ * frame_->mcu_v(c) + y < high_[c];
    return within ? block : nullptr;
  });
}

/// Writes bits with JPEG's byte stuffing. `free` bits of `held` are still empty.
struct ScanCoder::Emitter {
  std::uint8_t* at;
  std::uint64_t held = 0;
  int free = 64;

  void put_byte(std::uint8_t byte) {
    *at++ = byte;
    if (byte == 0xff) *at++ = 0;
  }

  void put(std::uint32_t bits, int count) {
    free -= count;
    if (free >= 0) {
      held |= std::uint64_t{bits} << free;
      return;
    }
    held |= std::uint64_t{bits} >> -free;
    put_held();
    free += 64;
    held = std::uint64_t{bits} << free;
  }

  void put_held() {
    constexpr std::uint64_t kHigh = 0x8080808080808080, kOnes = 0x0101010101010101;
    if ((held & kHigh & ~(held + kOnes)) == 0 && std::endian::native == std::endian::little) {
      const std::uint64_t swapped = __builtin_bswap64(held);
      std::memcpy(at, &swapped, sizeof swapped);
      at += sizeof swapped;
      return;
    }
    for (int shift = 56; shift >= 0; shift -= 8) put_byte(static_cast<std::uint8_t>(held >> shift));
  }

  /// Fills the last byte with ones, as T.81 F.1.2.3 demands.
  void flush() {
    const int used = 64 - free;
    held |= ~std::uint64_t{0} >> used % 64 & (used == 64 ? 0 : ~std::uint64_t{0});
    for (int i = 0; i < used; i += 8) put_byte(static_cast<std::uint8_t>(held >> (56 - i)));
    held = 0;
    free = 64;
  }
};

/// Every byte may need a stuffed zero after it; each segment is padded and has a marker.
std::size_t ScanCoder::data_bound() const {
  std::uint64_t bits = 0;
  for (std::size_t t = 0; t < 4; ++t) {
    const HuffmanTable& table = t < 2 ? dc_[t] : ac_[t - 2];
    for (std::size_t symbol = 0; symbol < 256; ++symbol) {
      bits += std::uint64_t{counts_[t][symbol]} * (table.bits[symbol] + (symbol & 15));
    }
  }
  return static_cast<std::size_t>(bits / 8 * 2) + 4 * segment_ends_.size() + 32;
}

void ScanCoder::finish() {
  struct Code {
    std::uint32_t bits;
    int count;
  };
  std::array<Code, std::size_t{4} * 256> codes;
  for (std::size_t t = 0; t < 4; ++t) {
    HuffmanTable& table = t < 2 ? dc_[t] : ac_[t - 2];
    table = t % 2 == 1 && frame_->count == 1 ? HuffmanTable{}
                                             : optimal_table(counts_[t], max_code_bits_);
    for (std::size_t symbol = 0; symbol < 256; ++symbol) {
      const int extra = static_cast<int>(symbol & 15);
      codes[t * 256 + symbol] = {std::uint32_t{table.code[symbol]} << extra,
                                 table.bits[symbol] + extra};
    }
  }
  Emitter out{memory_.reserve(data_bound())};
  row_offsets_.clear();
  const std::uint32_t per_row = frame_->mcus_per_row() / frame_->restart_interval;
  const Token* token = tokens_.data();
  for (std::size_t s = 0; s < segment_ends_.size(); ++s) {
    if (s > 0) {
      *out.at++ = 0xff;
      *out.at++ = static_cast<std::uint8_t>(0xd0 + (s - 1) % 8);
    }
    if (s % per_row == 0) {
      row_offsets_.push_back(static_cast<std::uint32_t>(out.at - memory_.data()));
    }
    for (const Token* end = tokens_.data() + segment_ends_[s]; token < end; ++token) {
      const Code& code = codes[*token >> kSymbolShift];
      out.put(code.bits | (*token & 0xffff), code.count);
    }
    out.flush();
  }
  const auto size = static_cast<std::size_t>(out.at - memory_.data());
  if (size > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorKind::kUnsupported, "a JPEG of more than 4 GiB");
  }
  row_offsets_.push_back(static_cast<std::uint32_t>(size));
  data_ = {reinterpret_cast<const std::byte*>(memory_.data()), size};
}

}  // namespace packhorse::encode
