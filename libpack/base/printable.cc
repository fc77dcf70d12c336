#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace packhorse {

namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  ///< 0: not UTF-8
};

/// Decodes the first character (RFC 3629, section 4). `text` must not be empty.
Character first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0u) != 0x80) return {};
    code = code << 6 | (byte & 0x3fu);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[bytes] || surrogate || code > 0x10ffff) return {};
  return {code, bytes};
}

struct Range {
  std::uint32_t first, last;
};
constexpr std::array kUnsafe = {
    Range{0x00, 0x1f},     Range{0x7f, 0x9f},     Range{0xad, 0xad},      Range{0x61c, 0x61c},
    Range{0x180e, 0x180e}, Range{0x200b, 0x200f}, Range{0x2028, 0x202e},  Range{0x2060, 0x206f},
    Range{0xfeff, 0xfeff}, Range{0xfff9, 0xfffb}, Range{0xe0000, 0xe007f}};

bool is_unsafe(std::uint32_t code) {
  return std::ranges::any_of(
      kUnsafe, [&](const Range& range) { return code >= range.first && code <= range.last; });
}

/// Replaces each character of `text` by what `escape(character, its bytes)` returns. A byte that is
/// not UTF-8 is passed as a character of 0 bytes.
template <class Escape>
std::string escaped(std::string_view text, Escape escape) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_of(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(1, character.bytes));
    out += escape(character, bytes);
    text.remove_prefix(bytes.size());
  }
  return out;
}

std::string in_bytes(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

}  // namespace

std::string printable(std::string_view name) {
  return escaped(name, [](const Character& character, std::string_view bytes) {
    if (bytes == "\\") return std::string("\\\\");
    return character.bytes == 0 || is_unsafe(character.code) ? in_bytes(bytes) : std::string(bytes);
  });
}

std::string printable_text(std::string_view text) {
  return escaped(without_secrets(text), [](const Character& character, std::string_view bytes) {
    return character.bytes == 0 || is_unsafe(character.code) ? in_bytes(bytes) : std::string(bytes);
  });
}

std::string printable_json(std::string_view json) {
  return escaped(json, [](const Character& character, std::string_view bytes) {
    if (character.bytes == 0) return std::string("\\ufffd");
    // The library has escaped control characters in strings; elsewhere they are white space.
    if (character.code < 0x20 || !is_unsafe(character.code)) return std::string(bytes);
    if (character.code < 0x10000) return fmt::format("\\u{:04x}", character.code);
    const std::uint32_t above = character.code - 0x10000;  // a pair of surrogates: RFC 8259, 7
    return fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (above >> 10), 0xdc00 + (above & 0x3ff));
  });
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = first_of(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

}  // namespace packhorse
