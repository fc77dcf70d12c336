#include "jpeg/decode/progressive.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "jpeg/decode/marker_segments.h"
#include "jpeg/decode/scan_blocks.h"

namespace packhorse::jpeg {

namespace {

constexpr std::uint32_t kMostShift = 13;
constexpr std::uint32_t kMostScans = 50;  // real files have about ten

/// One picture's scans.
class Scans {
 public:
  Scans(Bytes file, HeaderParser& parser, const Frame& frame, const McuRange& needed,
        const Kernels& kernels, ProgressiveMemory& memory)
      : file_(file), parser_(parser), frame_(frame), kernels_(kernels), memory_(memory) {
    to_.stored = needed;
    const std::size_t blocks = std::size_t{needed.right - needed.left} *
                               (needed.bottom - needed.top) * frame.blocks_per_mcu;
    to_.blocks = memory.blocks.reserve(blocks * kBlock);
    std::memset(to_.blocks, 0, blocks * kBlock * sizeof *to_.blocks);
    last_ = memory.last.reserve(blocks);
    std::size_t sets = 0;
    std::uint32_t first = 0;
    for (std::uint32_t i = 0; i < frame.components; ++i) {
      const Component& c = frame.component[i];
      to_.planes[i].wide = (frame.width * c.h + 8 * frame.h - 1) / (8 * frame.h);
      to_.planes[i].first = first;
      first += c.h * c.v;
      sets += std::size_t{to_.planes[i].wide} * rows_above(needed.bottom, i);
      sent_[i].fill(-1);
    }
    std::uint64_t* set = memory.set.reserve(sets);
    std::memset(set, 0, sets * sizeof *set);
    for (std::uint32_t i = 0; i < frame.components; ++i) {
      to_.planes[i].set = set;
      set += std::size_t{to_.planes[i].wide} * rows_above(needed.bottom, i);
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

  Coefficients coefficients() const { return {to_.blocks, last_}; }

 private:
  bool parse(Bytes body, Scan& scan) const;
  bool may_follow(const Scan& scan);
  bool build_tables(const Scan& scan);
  bool decode_scan(const Scan& scan, std::size_t& at);
  bool next_header(std::size_t& at, Bytes& header, bool& more);
  bool is_complete() const;
  void find_last();

  /// The rows of a component's blocks in all rows of MCUs above `mcu_row`.
  std::uint32_t rows_above(std::uint32_t mcu_row, std::uint32_t component) const {
    const std::uint32_t v = frame_.component[component].v;
    const std::uint32_t all = (frame_.height * v + 8 * frame_.v - 1) / (8 * frame_.v);
    return std::min(all, mcu_row * v);
  }
  /// How many units a scan has above a row of MCUs: MCUs, or the blocks of a lone component.
  std::uint32_t units(const Scan& scan, std::uint32_t mcu_row) const {
    if (scan.count > 1) return frame_.mcus_per_row * mcu_row;
    const std::uint32_t component = scan.component[0];
    return to_.planes[component].wide * rows_above(mcu_row, component);
  }

  Bytes file_;
  HeaderParser& parser_;
  const Frame& frame_;
  const Kernels& kernels_;
  ProgressiveMemory& memory_;
  const ScanDecoder decode_part_ = scan_decoder();
  ProgressiveBlocks to_;
  std::uint8_t* last_;
  /// How many bits of each coefficient are still to come; -1: none has been sent.
  std::array<std::array<std::int8_t, kBlock>, kMaxComponents> sent_{};
  std::array<ScanCodes, 4> dc_, ac_;
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
  if (scan.first > 0)
    return scan.ac < 4 && ac_[scan.ac].build(frame_.ac[scan.ac], ScanCodes::Kind::kAc);
  for (std::uint32_t i = 0; i < scan.count && scan.high == 0; ++i) {
    const std::uint32_t which = scan.dc[i];
    if (which >= 4 || !dc_[which].build(frame_.dc[which], ScanCodes::Kind::kDc)) return false;
  }
  return true;
}

/// Decodes the entropy-coded bytes at `at` as far down as is needed, and moves it to the marker
/// behind all of them.
bool Scans::decode_scan(const Scan& scan, std::size_t& at) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(file_.data());
  const std::uint8_t *from = bytes + at, *const end = bytes + file_.size();
  const std::uint32_t all = units(scan, frame_.mcu_rows), needed = units(scan, to_.stored.bottom);
  const std::uint32_t interval = frame_.restart_interval != 0 ? frame_.restart_interval : all;
  std::uint8_t* const memory =
      memory_.scan.reserve(static_cast<std::size_t>(end - from) + kScanPadding + kKernelSlack);
  ScanPart part{&frame_, &to_, &scan};
  if (scan.first > 0) part.ac = &ac_[scan.ac];
  for (std::uint32_t i = 0; i < scan.count && scan.first == 0 && scan.high == 0; ++i)
    part.dc[i] = &dc_[scan.dc[i]];
  for (std::uint32_t done = 0, restarts = 0; done < all; done += interval, ++restarts) {
    if (done > 0) {
      if (end - from < 2 || from[0] != 0xff || from[1] != kRst0 + ((restarts - 1) & 7))
        return false;
      from += 2;
    }
    if (done >= needed) {
      from = kernels_.find_marker(from, end);
      continue;
    }
    const Unstuffed copied = kernels_.unstuff(from, end, memory);
    from = copied.stop;
    const std::uint32_t stop = interval < all - done ? done + interval : all;
    part.begin = memory;
    part.end = copied.out;
    part.first = done;
    part.stop = std::min(stop, needed);
    part.whole = stop <= needed;
    if (!decode_part_(part)) return false;
  }
  at = static_cast<std::size_t>(from - bytes);
  return true;
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

/// DC counts as set. Blocks beyond the picture's edges have nothing else.
void Scans::find_last() {
  std::uint8_t* last = last_;
  for (std::uint32_t row = to_.stored.top; row < to_.stored.bottom; ++row) {
    for (std::uint32_t column = to_.stored.left; column < to_.stored.right; ++column) {
      for (std::uint32_t i = 0; i < frame_.components; ++i) {
        const Component& c = frame_.component[i];
        const ProgressiveBlocks::Plane& plane = to_.planes[i];
        const std::uint32_t high = rows_above(to_.stored.bottom, i);
        for (std::uint32_t y = row * c.v; y < (row + 1) * c.v; ++y) {
          for (std::uint32_t x = column * c.h; x < (column + 1) * c.h; ++x) {
            const bool inside = x < plane.wide && y < high;
            const std::uint64_t set = inside ? plane.set[std::size_t{y} * plane.wide + x] : 0;
            *last++ = static_cast<std::uint8_t>(set == 0 ? 1 : 64 - std::countr_zero(set));
          }
        }
      }
    }
  }
}

bool Scans::is_complete() const {
  for (std::uint32_t i = 0; i < frame_.components; ++i)
    for (const std::int8_t left : sent_[i])
      if (left != 0) return false;
  return true;
}

}  // namespace

Reason decode_progressive(Bytes file, HeaderParser& parser, const Frame& frame,
                          const McuRange& needed, const Kernels& kernels, ProgressiveMemory& memory,
                          Coefficients& coefficients) {
  // Each block's first coefficient takes a bit at least: no small file asks for much memory.
  const std::size_t blocks = std::size_t{frame.mcus()} * frame.blocks_per_mcu;
  if (blocks / 8 > file.size()) return Reason::kProgressive;
  const auto scans = std::make_unique<Scans>(file, parser, frame, needed, kernels, memory);
  if (!scans->decode()) return Reason::kProgressive;
  coefficients = scans->coefficients();
  return Reason::kNone;
}

}  // namespace packhorse::jpeg
