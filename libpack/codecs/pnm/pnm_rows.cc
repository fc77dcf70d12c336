#include <algorithm>
#include <cstring>
#include <vector>

#include "codecs/pnm/pnm_header.h"

namespace packhorse::codecs {

namespace {

class PnmRows final : public PixelRows {
 public:
  PnmRows(Bytes file, const pnm::Header& header, const Region& region)
      : file_(file), header_(header), region_(region), numbers_(as_text(file), header.pixels) {
    row_.resize(static_cast<std::size_t>(region.width) * header.channels() * header.sample_bytes());
    if (header.is_plain()) {
      skip(static_cast<std::uint64_t>(region.y) * header.samples_in_row());
    } else {
      next_ = header.pixels + static_cast<std::size_t>(region.y) * header.row_bytes();
    }
  }

  const std::byte* next() override {
    const std::size_t channels = header_.channels();
    const std::size_t first = static_cast<std::size_t>(region_.x) * channels;
    const std::size_t count = static_cast<std::size_t>(region_.width) * channels;
    if (header_.is_plain()) skip(first);
    const std::byte* row = file_.data() + next_;
    for (std::size_t i = 0; i < count; ++i)
      put(i, header_.is_plain() ? number() : sample(row, first + i));
    if (header_.is_plain()) skip(header_.samples_in_row() - first - count);
    next_ += header_.row_bytes();
    return row_.data();
  }

 private:
  /// Reading the header has shown that they are all there.
  unsigned number() {
    return (header_.is_bitmap() ? numbers_.next_bit() : numbers_.next()).value_or(0);
  }
  void skip(std::uint64_t numbers) {
    for (; numbers > 0; --numbers) number();
  }

  unsigned sample(const std::byte* row, std::size_t i) const {
    const auto at = [&](std::size_t byte) { return std::to_integer<unsigned>(row[byte]); };
    if (header_.is_bitmap()) return at(i / 8) >> (7 - i % 8) & 1;
    return header_.sample_bytes() == 1 ? at(i) : at(2 * i) << 8 | at(2 * i + 1);
  }

  /// Scales a sample to all that its bytes can hold. The ones of a bitmap are black.
  void put(std::size_t i, unsigned value) {
    const std::uint64_t most = header_.maximum, full = header_.sample_bytes() == 1 ? 255 : 65535;
    const std::uint64_t scaled = (std::min<std::uint64_t>(value, most) * full + most / 2) / most;
    const auto sample = static_cast<std::uint16_t>(header_.is_bitmap() ? full - scaled : scaled);
    if (full == 255) {
      row_[i] = static_cast<std::byte>(sample);
    } else {
      std::memcpy(row_.data() + 2 * i, &sample, 2);
    }
  }

  Bytes file_;
  pnm::Header header_;
  Region region_;
  pnm::Numbers numbers_;  ///< of a plain file
  std::size_t next_ = 0;  ///< where the next row of a raw one begins
  std::vector<std::byte> row_;
};

}  // namespace

std::unique_ptr<PixelRows> open_pnm(Bytes file, const ProbeResult& header, const Region& region) {
  std::string reason;
  const std::optional<pnm::Header> found = pnm::read(file, reason);
  if (!found) damaged("pnm", reason);
  if (found->width != header.info->width || found->height != header.info->height)
    damaged("pnm", "its header");
  return std::make_unique<PnmRows>(file, *found, region);
}

}  // namespace packhorse::codecs
