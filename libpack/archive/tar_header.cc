#include "archive/tar_header.h"

#include <algorithm>
#include <charconv>

#include "packhorse/base/error.h"

namespace packhorse {

namespace {

// Offset and length of the fields of a header block.
struct Field {
  std::size_t at, length;
};
constexpr Field kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kLink{157, 100}, kMagic{257, 8},
    kPrefix{345, 155};
constexpr std::size_t kType = 156;

[[noreturn]] void damaged(const std::string& what) {
  throw Error(ErrorKind::kCorrupt, "damaged tar header: " + what);
}

std::string_view raw(Bytes block, Field field) {
  return as_text(block.subspan(field.at, field.length));
}

std::string_view until_nul(std::string_view text) { return text.substr(0, text.find('\0')); }

std::string_view text_of(Bytes block, Field field) { return until_nul(raw(block, field)); }

std::uint64_t octal(std::string_view text) {
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '7') {
      value = value * 8 + static_cast<std::uint64_t>(c - '0');
    } else if (value > 0 || c != ' ') {
      break;
    }
  }
  return value;
}

/// What pax records say about the name: "length key=value\n" each.
struct Pax {
  std::string path, link, sparse_name;
  bool sparse = false;

  void parse(std::string_view text) {
    while (!text.empty()) {
      std::size_t length = 0;
      const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), length);
      const auto digits = static_cast<std::size_t>(end - text.data());
      if (code != std::errc() || length > text.size() || length < digits + 4 ||
          text[digits] != ' ' || text[length - 1] != '\n') {
        damaged("a malformed pax record");
      }
      const std::string_view record = text.substr(digits + 1, length - digits - 2);
      text.remove_prefix(length);
      const std::size_t equals = record.find('=');
      if (equals == std::string_view::npos) damaged("a pax record without '='");
      take(record.substr(0, equals), record.substr(equals + 1));
    }
  }

  void take(std::string_view key, std::string_view value) {
    if (key == "path") path = value;
    if (key == "linkpath") link = value;
    if (key == "GNU.sparse.name") sparse_name = value;
    sparse = sparse || key.starts_with("GNU.sparse.") || key == "SUN.holesdata";
  }
};

std::string own_name(Bytes header) {
  const std::string_view name = text_of(header, kName);
  // GNU's own headers ("ustar  ") have other things in the place of the prefix.
  const std::string_view prefix = text_of(header, kPrefix);
  if (!raw(header, kMagic).starts_with(std::string_view("ustar\0", 6)) || prefix.empty())
    return std::string(name);
  return std::string(prefix) + (prefix.ends_with('/') ? "" : "/") + std::string(name);
}

}  // namespace

bool all_zero(Bytes bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

bool is_tar_header(Bytes block) {
  if (block.size() < kTarBlock || all_zero(block.first(kTarBlock))) return false;
  std::int64_t plain = 0, with_sign = 0;  // some old programs summed signed bytes
  for (std::size_t i = 0; i < kTarBlock; ++i) {
    const bool blank = i >= kChecksum.at && i < kChecksum.at + kChecksum.length;
    const auto byte = blank ? std::uint8_t{' '} : std::to_integer<std::uint8_t>(block[i]);
    plain += byte;
    with_sign += static_cast<std::int8_t>(byte);
  }
  const auto stated = static_cast<std::int64_t>(octal(raw(block, kChecksum)));
  return stated == plain || stated == with_sign;
}

TarHeader parse_tar_headers(Bytes blocks) {
  TarHeader header;
  Pax pax;
  std::string long_name, long_link;
  while (true) {
    if (blocks.size() < kTarBlock) damaged("the member's own header is missing");
    const Bytes block = blocks.first(kTarBlock);
    blocks = blocks.subspan(kTarBlock);
    if (all_zero(block)) continue;
    header.type = static_cast<char>(block[kType]);
    if (std::string_view("xXgLKAV").find(header.type) == std::string_view::npos) {
      header.name = own_name(block);
      header.link = text_of(block, kLink);
      break;
    }
    const std::uint64_t size = header.type == 'V' ? 0 : octal(raw(block, kSize));
    if (size > blocks.size()) damaged("an extended header runs past its end");
    const std::string_view text = as_text(blocks.first(size));
    if (header.type == 'x' || header.type == 'X') pax.parse(text);
    if (header.type == 'L') long_name = until_nul(text);
    if (header.type == 'K') long_link = until_nul(text);
    const std::uint64_t padded = (size + kTarBlock - 1) / kTarBlock * kTarBlock;
    blocks = blocks.subspan(std::min<std::uint64_t>(padded, blocks.size()));
  }
  header.sparse = header.type == 'S' || pax.sparse;
  if (!blocks.empty() && !header.sparse) damaged("too many extended headers for one member");
  if (!long_name.empty()) header.name = long_name;
  if (!long_link.empty()) header.link = long_link;
  if (!pax.path.empty()) header.name = pax.path;
  if (!pax.link.empty()) header.link = pax.link;
  if (!pax.sparse_name.empty()) header.name = pax.sparse_name;
  return header;
}

}  // namespace packhorse
