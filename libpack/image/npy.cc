#include "image/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kPrefix = 10;  // magic, version 1.0, length of the text
constexpr std::size_t kMostAxes = 8;

[[noreturn]] void corrupt(const char* what) {
  throw Error(ErrorKind::kCorrupt, std::string("damaged .npy: ") + what);
}

/// The text of a header: a Python dictionary of three members, in any order.
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : text_(text) {}

  void parse(NpyHeader& header) {
    bool type = false, order = false, shape = false;
    take('{');
    while (!next_is('}')) {
      const std::string key = string();
      take(':');
      if (key == "descr" && !type) {
        type = true;
        header.type = string();
      } else if (key == "fortran_order" && !order) {
        order = true;
        header.fortran_order = boolean();
      } else if (key == "shape" && !shape) {
        shape = true;
        header.shape = tuple();
      } else {
        corrupt("its header has an unknown member");
      }
      if (!next_is('}')) take(',');
    }
    if (!type || !order || !shape) corrupt("its header lacks type, order or shape");
  }

 private:
  void skip_blanks() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size()));
  }
  bool next_is(char c) {
    skip_blanks();
    return text_.starts_with(c);
  }
  void take(char c) {
    if (!next_is(c)) corrupt("its header is no dictionary");
    text_.remove_prefix(1);
  }

  std::string string() {
    const char quote = next_is('"') ? '"' : '\'';
    take(quote);
    const std::size_t end = text_.find(quote);
    if (end == std::string_view::npos) corrupt("its header is cut");
    std::string value(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return value;
  }

  bool boolean() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return word == "True";
    }
    corrupt("its order is neither True nor False");
  }

  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> numbers;
    take('(');
    while (!next_is(')')) {
      std::uint64_t number = 0;
      const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
      if (code != std::errc() || numbers.size() == kMostAxes) corrupt("its shape is not a shape");
      numbers.push_back(number);
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      if (!next_is(')')) take(',');
    }
    take(')');
    return numbers;
  }

  std::string_view text_;
};

}  // namespace

std::string npy_header(const ImageInfo& image) {
  std::string header(kMagic);
  header += std::string_view("\x01\x00", 2);
  constexpr std::size_t kText = kNpyHeaderBytes - kPrefix;
  header += static_cast<char>(kText);
  header += '\0';
  header += fmt::format("{{'descr': '|u1', 'fortran_order': False, 'shape': ({}, {}, {}), }}",
                        image.height, image.width, image.components);
  header.resize(kNpyHeaderBytes - 1, ' ');
  return header + '\n';
}

NpyHeader parse_npy_header(Bytes file) {
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(file[i]); };
  if (!as_text(file).starts_with(kMagic) || file.size() < kPrefix) corrupt("it does not start so");
  const std::size_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0) corrupt("its version is unknown");
  // Versions 2 and 3 have two more bytes of length.
  const std::size_t prefix = version == 1 ? kPrefix : kPrefix + 2;
  if (file.size() < prefix) corrupt("its header is cut");
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > file.size() - prefix) corrupt("its header is cut");
  if (length > kNpyMostHeader - prefix) corrupt("its header is too long");
  NpyHeader header;
  HeaderText(as_text(file.subspan(prefix, length))).parse(header);
  header.bytes = prefix + length;
  return header;
}

Bytes npy_pixels(Bytes file) {
  const NpyHeader header = parse_npy_header(file);
  if (header.type != "|u1" || header.fortran_order) corrupt("it holds no rows of bytes");
  if (header.shape.size() != 3) corrupt("its shape has not three axes");
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : header.shape) {
    if (__builtin_mul_overflow(elements, extent, &elements)) corrupt("its shape is too large");
  }
  const Bytes pixels = file.subspan(header.bytes);
  if (elements != pixels.size()) corrupt("its size is not the one in its header");
  return pixels;
}

}  // namespace packhorse
