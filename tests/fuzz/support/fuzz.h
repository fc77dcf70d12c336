#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "packhorse/base/bytes.h"
#include "packhorse/base/error.h"

/// Code shared by the fuzz targets. A target is one function that libFuzzer calls with bytes of its
/// making. It hands them to a parser and reads everything that comes out:
///
///     extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
///       return packhorse::fuzz::attempt(data, size, [](Bytes input) { npy_pixels(input); });
///     }
///
/// The only exception that bytes from outside may cause is packhorse::Error.
namespace packhorse::fuzz {

/// Copies the input so that it ends at an inaccessible page: code without sanitizers, such as a
/// library, cannot read past it either. One thread; the view lives until the next call.
Bytes guarded(const std::uint8_t* data, std::size_t size);

/// Ends the process, with a report, unless `kept` is true: a promise of the code under test.
void promise(bool kept, const char* what);

/// Ends the process, with a report, when a view leads out of its memory.
void touch(Bytes bytes);
inline void touch(std::string_view text) { touch(as_bytes(text)); }

template <class Parse>
int attempt(const std::uint8_t* data, std::size_t size, const Parse& parse) {
  try {
    parse(guarded(data, size));
  } catch (const Error& error) {
    promise(error.what()[0] != '\0', "an error says what is wrong");
  }
  return 0;
}

/// Whether the text contains a number of `digits` digits or more. As a label it makes that many
/// classes, which is allowed, but takes too long to be done a million times.
bool has_long_number(Bytes text, std::size_t digits = 5);

/// A file that exists only in memory, for parsers that take a path. Memory mapped from it beyond
/// the file's end is poisoned (see mapped_memory.cc).
class MemoryFile {
 public:
  /// `name`: what its path ends with, for parsers that look at that. Empty: any path.
  explicit MemoryFile(const std::string& name = {});
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  /// Replaces the file's content by `content`.
  void hold(Bytes content);
  const std::filesystem::path& path() const { return path_; }
  int fd() const { return fd_; }

 private:
  int fd_;
  std::size_t size_ = 0;
  std::filesystem::path path_, folder_;
};

/// Takes choices off the end of an input, where they do not shift the parsed bytes.
class Choices {
 public:
  explicit Choices(Bytes& input) : input_(input) {}
  /// 0 to 255; 0 when nothing is left.
  unsigned next() {
    if (input_.empty()) return 0;
    const auto last = std::to_integer<unsigned>(input_.back());
    input_ = input_.first(input_.size() - 1);
    return last;
  }
  /// 0 to `below` - 1.
  unsigned below(unsigned below) { return (next() << 8 | next()) % below; }

 private:
  Bytes& input_;
};

}  // namespace packhorse::fuzz
