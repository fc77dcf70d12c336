#include "labels/text_file.h"

#include <fmt/format.h>
#include <iconv.h>
#include <sys/mman.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "packhorse/base/bytes.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::uint64_t kMostUtf16 = 256u << 20;
constexpr std::string_view kLittle = "\xff\xfe", kBig = "\xfe\xff";
constexpr std::size_t kLookedAt = 4096;

std::string part_of(int fd, std::uint64_t offset, std::uint64_t bytes,
                    const std::filesystem::path& path) {
  std::string text(bytes, '\0');
  read_exactly(fd, offset, std::as_writable_bytes(std::span(text)), path);
  return text;
}

/// A file in memory that holds what is appended.
class MemoryText {
 public:
  explicit MemoryText(const std::filesystem::path& path)
      : path_(path), fd_(::memfd_create("packhorse-text", MFD_CLOEXEC)) {
    if (fd_.get() < 0) throw_errno("make memory for", path_);
  }
  void append(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = uninterrupted([&] { return ::write(fd_.get(), text.data(), text.size()); });
      if (n < 0) throw_errno("convert", path_);
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  UniqueFd take() { return std::move(fd_); }

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
};

/// Converts UTF-16 behind its mark.
class Converter {
 public:
  Converter(bool little, const std::filesystem::path& path)
      : path_(path), conversion_(::iconv_open("UTF-8", little ? "UTF-16LE" : "UTF-16BE")) {
    if (conversion_ == reinterpret_cast<iconv_t>(-1)) throw_errno("convert", path_);
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;
  ~Converter() { ::iconv_close(conversion_); }

  void convert(std::string_view text, bool last, MemoryText& out) {
    rest_.append(text);
    char* from = rest_.data();
    std::size_t left = rest_.size();
    while (left > 0) {
      char* to = room_.data();
      std::size_t free = room_.size();
      const std::size_t result = ::iconv(conversion_, &from, &left, &to, &free);
      const std::string_view made(room_.data(), room_.size() - free);
      line_ += static_cast<std::uint64_t>(std::ranges::count(made, '\n'));
      out.append(made);
      if (result != static_cast<std::size_t>(-1) || errno == E2BIG) continue;
      if (errno == EINVAL && !last) break;  // half a character
      throw Error(ErrorKind::kUsage,
                  fmt::format("line {}: the file begins as UTF-16 and is not", line_), path_,
                  kConvertAdvice);
    }
    rest_.erase(0, rest_.size() - left);
  }

 private:
  std::filesystem::path path_;
  iconv_t conversion_;
  std::string rest_;
  std::array<char, 1 << 16> room_{};
  std::uint64_t line_ = 1;
};

}  // namespace

UniqueFd open_text(const std::filesystem::path& path) {
  UniqueFd fd = open_for_reading(path);
  const std::uint64_t bytes = file_size(fd.get(), path);
  const std::string head = part_of(fd.get(), 0, std::min<std::uint64_t>(bytes, kLookedAt), path);
  const bool little = head.starts_with(kLittle);
  if (!little && !head.starts_with(kBig)) {
    if (head.find('\0') == std::string::npos) return fd;
    throw Error(ErrorKind::kUsage, "the file holds zero bytes, so it is not text in UTF-8", path,
                "if it is UTF-16 without a byte order mark, convert it: iconv -f UTF-16LE -t UTF-8 "
                "FILE > NEW");
  }
  if (bytes > kMostUtf16)
    throw Error(ErrorKind::kUsage, fmt::format("the file is UTF-16 of {} bytes", bytes), path,
                "convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW");
  MemoryText out(path);
  Converter converter(little, path);
  for (std::uint64_t at = kLittle.size(); at < bytes;) {
    const std::uint64_t n = std::min<std::uint64_t>(1 << 16, bytes - at);
    converter.convert(part_of(fd.get(), at, n, path), at + n == bytes, out);
    at += n;
  }
  return out.take();
}

std::string case_folded(std::string_view text) {
  utf8proc_uint8_t* folded = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), &folded,
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT |
                                     UTF8PROC_CASEFOLD | UTF8PROC_IGNORE | UTF8PROC_LUMP));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(folded, &std::free);
  std::string_view seen = text;
  if (size >= 0) seen = {reinterpret_cast<const char*>(folded), static_cast<std::size_t>(size)};
  const std::size_t first = seen.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return std::string(seen.substr(first, seen.find_last_not_of(' ') - first + 1));
}

}  // namespace packhorse
