#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "packhorse/base/bytes.h"
#include "packhorse/base/error.h"

/// The small vocabulary of the tests.
namespace packhorse::test {

/// Of how many cases a long loop takes one. What sanitizers find depends on sizes and paths rather
/// than on values, and they are slow: with one, loops over values or photos take every sixteenth.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // g++
#define PACKHORSE_TEST_SANITIZED
#elif defined(__has_feature)  // clang
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PACKHORSE_TEST_SANITIZED
#endif
#endif
#ifdef PACKHORSE_TEST_SANITIZED
inline constexpr int kEvery = 16;
#else
inline constexpr int kEvery = 1;
#endif

/// A directory for one test case, removed at its end.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// The project's samples/ folder.
std::filesystem::path samples();

/// Writes a file, creating its directories.
void put(const std::filesystem::path& path, std::string_view text);

/// A valid 1 x 1 grey BMP-like image, distinguished by `number`, padded to at least `bytes` bytes.
std::string tiny_image(int number, std::size_t bytes = 0);

/// Makes a class folder with `classes` classes of `images` tiny images each, c0/0000, c0/0001, ...
void make_folder(const std::filesystem::path& root, int classes, int images);

void flip_byte(const std::filesystem::path& path, std::uint64_t offset);
void truncate(const std::filesystem::path& path, std::uint64_t size);

/// Every file below `root` by relative path, one "path sha256" per line: equal texts mean equal
/// trees.
std::string tree(const std::filesystem::path& root);

/// The text of a dataset.json as a later packhorse might write it: another manifest_version, one
/// more field, and the matching id.
std::string as_later_version(std::string_view manifest);

/// Says that the rest of the running test case is skipped, and notes it in the file
/// $PACKHORSE_SKIPS, which scripts/test compares with tests/optional_skips.txt.
void skipped(std::string_view reason);

/// Runs `work` and returns the kind of the Error it throws; fails the test when it throws none.
template <class Work>
ErrorKind kind_of_error(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("no Error was thrown");
  return ErrorKind::kUsage;
}

}  // namespace packhorse::test
