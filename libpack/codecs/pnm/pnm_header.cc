#include "codecs/pnm/pnm_header.h"

#include <algorithm>

namespace packhorse::codecs {

namespace pnm {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether a plain file has all its samples.
bool has_samples(std::string_view text, const Header& header) {
  Numbers numbers(text, header.pixels);
  // A sample takes a byte at least: this bounds the loop.
  const std::uint64_t samples = product(header.samples_in_row(), header.height);
  if (samples > text.size()) return false;
  for (std::uint64_t i = 0; i < samples; ++i)
    if (!(header.is_bitmap() ? numbers.next_bit() : numbers.next())) return false;
  return true;
}

}  // namespace

bool Numbers::find() {
  while (at_ < text_.size()) {
    if (text_[at_] == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (text_[at_] == ' ' || (text_[at_] >= '\t' && text_[at_] <= '\r')) {
      ++at_;
    } else {
      break;
    }
  }
  return at_ < text_.size() && is_digit(text_[at_]);
}

std::optional<std::uint32_t> Numbers::next() {
  constexpr std::uint64_t kTooLarge = 1'000'000'000;
  if (!find()) return std::nullopt;
  std::uint64_t value = 0;
  for (; at_ < text_.size() && is_digit(text_[at_]); ++at_)
    value = std::min(value * 10 + static_cast<std::uint64_t>(text_[at_] - '0'), kTooLarge);
  return static_cast<std::uint32_t>(value);
}

std::optional<std::uint32_t> Numbers::next_bit() {
  if (!find() || text_[at_] > '1') return std::nullopt;
  return static_cast<std::uint32_t>(text_[at_++] - '0');
}

std::optional<Header> read(Bytes file, std::string& reason) {
  const std::string_view text = as_text(file);
  Header header;
  reason = "it does not begin as one";
  if (sniff_image(file) != ImageKind::kPnm) return std::nullopt;
  header.type = text[1];
  Numbers numbers(text, 2);
  header.width = numbers.next().value_or(0);
  header.height = numbers.next().value_or(0);
  if (!header.is_bitmap()) header.maximum = numbers.next().value_or(0);
  if (header.maximum == 0 || header.maximum > 65535) {
    reason = "damaged header: bad maximum value";
    return std::nullopt;
  }
  header.pixels = numbers.at() + 1;
  const bool whole = header.pixels <= text.size() &&
                     (header.is_plain() ? has_samples(text, header)
                                        : product(header.row_bytes(), header.height) <=
                                              text.size() - header.pixels);
  if (!whole) {
    reason = "truncated: its pixels reach beyond the end of the file";
    return std::nullopt;
  }
  return header;
}

}  // namespace pnm

ProbeResult read_pnm_header(Bytes file, bool) {
  std::string reason;
  const std::optional<pnm::Header> header = pnm::read(file, reason);
  if (!header) return refuse(std::move(reason));
  ImageInfo info;
  info.width = header->width;
  info.height = header->height;
  info.components = narrow(static_cast<std::uint32_t>(header->channels()));
  info.bit_depth =
      header->is_bitmap() ? 1 : narrow(8 * static_cast<std::uint32_t>(header->sample_bytes()));
  PixelLayout layout;
  layout.model = header->channels() == 1 ? ColourModel::kGrey : ColourModel::kRgb;
  layout.channels = info.components;
  layout.bits = info.bit_depth == 16 ? 16 : 8;
  // Netpbm may have several in one file.
  const std::size_t end =
      header->pixels + (header->is_plain() ? 0 : header->row_bytes() * header->height);
  const bool more = !header->is_plain() && sniff_image(file.subspan(end)) == ImageKind::kPnm;
  return accept(info, layout, {}, more ? ProbeResult::kSeveral : 1);  // read where they lie
}

}  // namespace packhorse::codecs
