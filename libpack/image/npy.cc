#include "packhorse/image/npy.h"

#include <fmt/format.h>

#include <charconv>

#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
constexpr std::size_t kPrefix = 10;  // magic, version, length of the text

[[noreturn]] void corrupt(const char* what) {
  throw Error(ErrorKind::kCorrupt, std::string("damaged .npy: ") + what);
}

/// The product of the numbers in "(2, 3, 4)"; `text` begins after the bracket.
std::uint64_t elements(std::string_view text) {
  std::uint64_t product = 1;
  int axes = 0;
  while (!text.starts_with(")")) {
    std::uint32_t extent = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (code != std::errc() || ++axes > 3) corrupt("its shape has not three axes");
    if (__builtin_mul_overflow(product, extent, &product)) corrupt("its shape is too large");
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
  }
  if (axes != 3) corrupt("its shape has not three axes");
  return product;
}

}  // namespace

std::string npy_header(const ImageInfo& image) {
  std::string header(kMagic);
  constexpr std::size_t kText = kNpyHeaderBytes - kPrefix;
  header += static_cast<char>(kText);
  header += '\0';
  header += fmt::format("{{'descr': '|u1', 'fortran_order': False, 'shape': ({}, {}, {}), }}",
                        image.height, image.width, image.components);
  header.resize(kNpyHeaderBytes - 1, ' ');
  return header + '\n';
}

Bytes npy_pixels(Bytes file) {
  if (!as_text(file).starts_with(kMagic) || file.size() < kPrefix) corrupt("it does not start so");
  const std::size_t length =
      std::to_integer<std::size_t>(file[8]) | std::to_integer<std::size_t>(file[9]) << 8;
  if (length > file.size() - kPrefix) corrupt("its header is cut");
  const std::string_view text = as_text(file.subspan(kPrefix, length));
  const bool bytes = text.find("'descr': '|u1'") != std::string_view::npos;
  const bool rows = text.find("'fortran_order': False") != std::string_view::npos;
  constexpr std::string_view kShape = "'shape': (";
  const std::size_t shape = text.find(kShape);
  if (!bytes || !rows || shape == std::string_view::npos) corrupt("it holds no rows of bytes");
  const Bytes pixels = file.subspan(kPrefix + length);
  if (elements(text.substr(shape + kShape.size())) != pixels.size()) {
    corrupt("its size is not the one in its header");
  }
  return pixels;
}

}  // namespace packhorse
