#include "tar_checksums.h"

#include <algorithm>
#include <cstdio>

namespace packhorse::fuzz {

std::vector<std::byte> with_tar_checksums(Bytes tar) {
  constexpr std::size_t kBlock = 512, kChecksum = 148, kChecksumBytes = 8, kMagic = 257;
  std::vector<std::byte> fixed(tar.begin(), tar.end());
  for (std::size_t at = 0; at + kBlock <= fixed.size(); at += kBlock) {
    const std::span<std::byte> block(fixed.data() + at, kBlock);
    if (!as_text(block).substr(kMagic).starts_with("ustar")) continue;
    std::fill_n(block.begin() + kChecksum, kChecksumBytes, std::byte{' '});
    unsigned sum = 0;
    for (const std::byte byte : block) sum += std::to_integer<unsigned>(byte);
    char digits[kChecksumBytes];
    std::snprintf(digits, sizeof digits, "%06o", sum);  // followed by a zero
    std::copy_n(std::as_bytes(std::span(digits)).begin(), sizeof digits - 1,
                block.begin() + kChecksum);
  }
  return fixed;
}

}  // namespace packhorse::fuzz
