#include "archive/zip_header.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "packhorse/base/file.h"

namespace packhorse {

namespace {

constexpr std::size_t kFixed = 30;
constexpr std::size_t kFlags = 6, kNameLength = 26, kExtraLength = 28;
constexpr unsigned kUtf8 = 1u << 11;
// Names and extra fields are usually short; the format's own limit is tried second.
constexpr std::size_t kUsual = 512, kLongest = kFixed + std::size_t{2} * 65535;

unsigned number(std::string_view text, std::size_t at) {
  return static_cast<unsigned>(static_cast<unsigned char>(text[at])) |
         static_cast<unsigned>(static_cast<unsigned char>(text[at + 1])) << 8u;
}

/// The header that ends with `text`.
std::optional<std::string_view> find_header(std::string_view text) {
  for (std::size_t before = text.size(); before > 0;) {
    const void* const found = ::memrchr(text.data(), 'P', before);
    if (found == nullptr) break;
    before = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    const std::string_view header = text.substr(before);
    if (header.size() >= kFixed && header.starts_with("PK\3\4") &&
        kFixed + number(header, kNameLength) + number(header, kExtraLength) == header.size())
      return header;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> zip_name_before(int fd, std::uint64_t end,
                                           const std::filesystem::path& path) {
  for (const std::size_t most : {kUsual, kLongest}) {
    std::vector<std::byte> bytes(std::min<std::uint64_t>(most, end));
    read_exactly(fd, end - bytes.size(), bytes, path);
    const std::optional<std::string_view> header = find_header(as_text(bytes));
    if (!header) continue;
    if ((number(*header, kFlags) & kUtf8) == 0) return std::nullopt;
    return std::string(header->substr(kFixed, number(*header, kNameLength)));
  }
  return std::nullopt;
}

}  // namespace packhorse
