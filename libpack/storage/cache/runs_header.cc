#include "storage/cache/runs_header.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/hash.h"

namespace packhorse {

static_assert(std::endian::native == std::endian::little, "the header is used as it is on disk");

namespace {

constexpr char kMagic[8] = {'P', 'H', 'R', 'U', 'N', 'S', '0', '1'};
constexpr std::uint32_t kVersion = 1;

struct Layout {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t run_bytes;
  std::uint64_t bytes;
  std::uint8_t sha256[32];
  std::uint64_t checksum;  ///< XXH3 of everything before
  std::int64_t used_ns;
  std::uint64_t reserved[2];
};
static_assert(sizeof(Layout) == kRunsHeaderBytes && offsetof(Layout, used_ns) == kUsedOffset);

std::uint64_t checksum_of(const Layout& layout) {
  return xxh3(std::as_bytes(std::span(&layout, 1)).first(offsetof(Layout, checksum)));
}

unsigned value_of(char digit) {
  return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

}  // namespace

std::array<std::byte, kRunsHeaderBytes> runs_header_bytes(const RunsHeader& header) {
  Layout layout{};
  std::copy(std::begin(kMagic), std::end(kMagic), layout.magic);
  layout.version = kVersion;
  layout.header_bytes = kRunsHeaderBytes;
  layout.run_bytes = kRunBytes;
  layout.bytes = header.bytes;
  for (std::size_t i = 0; i < std::size(layout.sha256); ++i) {
    layout.sha256[i] = static_cast<std::uint8_t>(value_of(header.sha256.at(2 * i)) * 16 +
                                                 value_of(header.sha256.at(2 * i + 1)));
  }
  layout.checksum = checksum_of(layout);
  layout.used_ns = header.used_ns;
  std::array<std::byte, kRunsHeaderBytes> bytes{};
  std::memcpy(bytes.data(), &layout, sizeof layout);
  return bytes;
}

std::optional<RunsHeader> parse_runs_header(Bytes begin, std::uint64_t file_bytes) {
  Layout layout{};
  if (begin.size() < sizeof layout) return std::nullopt;
  std::memcpy(&layout, begin.data(), sizeof layout);
  if (!std::equal(std::begin(kMagic), std::end(kMagic), layout.magic) ||
      layout.version != kVersion || layout.header_bytes != kRunsHeaderBytes ||
      layout.run_bytes != kRunBytes || layout.checksum != checksum_of(layout) ||
      layout.bytes > kMostCachedBytes || file_bytes != kRunsHeaderBytes + runs_of(layout.bytes))
    return std::nullopt;
  RunsHeader header{{}, layout.bytes, layout.used_ns};
  constexpr char kDigits[] = "0123456789abcdef";
  for (const std::uint8_t byte : layout.sha256) {
    header.sha256 += kDigits[byte >> 4];
    header.sha256 += kDigits[byte & 15];
  }
  return header;
}

}  // namespace packhorse
