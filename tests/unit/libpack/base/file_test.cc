#include "base/file.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "support/support.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::put;
using test::TemporaryDirectory;

}  // namespace

TEST_CASE("atomic file: is there after commit(), and only then") {
  const TemporaryDirectory directory;
  AtomicFile file(directory / "a");
  file.write(as_bytes("hello "));
  file.write(as_bytes("world"));
  CHECK(file.position() == 11);
  CHECK_FALSE(fs::exists(directory / "a"));
  file.commit();
  CHECK(read_text(directory / "a") == "hello world");
  CHECK_FALSE(fs::exists(file.temporary()));
}

TEST_CASE("atomic file: leaves nothing behind without commit()") {
  const TemporaryDirectory directory;
  { AtomicFile(directory / "a").write(as_bytes("hello")); }
  CHECK(fs::is_empty(directory.path()));
}

TEST_CASE("atomic file: without commit() the earlier file stays as it was") {
  const TemporaryDirectory directory;
  put(directory / "a", "earlier");
  { AtomicFile(directory / "a").write(as_bytes("later")); }
  CHECK(read_text(directory / "a") == "earlier");
}

TEST_CASE("atomic file: commit() replaces the earlier file") {
  const TemporaryDirectory directory;
  put(directory / "a", "earlier");
  write_file(directory / "a", as_bytes("later"));
  CHECK(read_text(directory / "a") == "later");
}

TEST_CASE("atomic file: pieces around the buffer's size arrive in order") {
  const TemporaryDirectory directory;
  AtomicFile file(directory / "a");
  std::string all;
  for (const std::size_t size : {1u, (1u << 20) - 1, 1u << 20, 3u, (1u << 20) + 1, 7u}) {
    const std::string piece(size, static_cast<char>('a' + size % 26));
    file.write(as_bytes(piece));
    all += piece;
    CHECK(file.position() == all.size());
  }
  file.commit();
  CHECK(read_text(directory / "a") == all);
}

TEST_CASE("atomic file: a folder that is not there is named") {
  const TemporaryDirectory directory;
  CHECK(kind_of_error([&] { AtomicFile(directory / "no" / "a"); }) == ErrorKind::kNotFound);
}

TEST_CASE("uninterrupted: makes a call again until no signal interrupts it") {
  int calls = 0;
  const auto call = [&](int error) {
    errno = ++calls < 3 ? EINTR : error;
    return calls < 3 || error != 0 ? -1 : 7;
  };
  CHECK(uninterrupted([&] { return call(0); }) == 7);
  CHECK(calls == 3);
  calls = 0;
  CHECK(uninterrupted([&] { return call(EIO); }) == -1);
  CHECK(calls == 3);
}

TEST_CASE("entries: of a directory, with those below, and never of one that is none") {
  const TemporaryDirectory directory;
  put(directory / "a/b", "");
  put(directory / "c", "");
  CHECK(entries_in(directory.path()).size() == 2);
  CHECK(entries_below(directory.path()).size() == 3);
  CHECK(kind_of_error([&] { entries_in(directory / "none"); }) == ErrorKind::kNotFound);
  CHECK(kind_of_error([&] { entries_below(directory / "c"); }) == ErrorKind::kNotFound);
}

TEST_CASE("write_plain_file: does not write over a file") {
  const TemporaryDirectory directory;
  write_plain_file(directory / "a", as_bytes("first"));
  CHECK_THROWS_AS(write_plain_file(directory / "a", as_bytes("second")), Error);
  CHECK(read_text(directory / "a") == "first");
}

TEST_CASE("read_exactly: reads from the middle") {
  const TemporaryDirectory directory;
  put(directory / "a", "0123456789");
  const UniqueFd fd = open_for_reading(directory / "a");
  std::vector<std::byte> bytes(4);
  read_exactly(fd.get(), 3, bytes, directory / "a");
  CHECK(as_text(bytes) == "3456");
}

TEST_CASE("read_exactly: a file cut while it is open is corrupt, with its name") {
  const TemporaryDirectory directory;
  put(directory / "a", "0123456789");
  const UniqueFd fd = open_for_reading(directory / "a");
  test::truncate(directory / "a", 6);
  std::vector<std::byte> bytes(4);
  read_exactly(fd.get(), 2, bytes, directory / "a");
  for (const std::uint64_t offset : {3u, 6u, 100u}) {
    try {
      read_exactly(fd.get(), offset, bytes, directory / "a");
      FAIL("a short read went unnoticed");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kCorrupt);
      CHECK(error.path() == directory / "a");
    }
  }
}

TEST_CASE("reading: a file that is not there is kNotFound, a folder is kIo") {
  const TemporaryDirectory directory;
  CHECK(kind_of_error([&] { read_file(directory / "a"); }) == ErrorKind::kNotFound);
  CHECK_THROWS_AS(read_file(directory.path()), Error);
}

TEST_CASE("rename_no_replace: moves to a free name") {
  const TemporaryDirectory directory;
  put(directory / "a" / "x", "1");
  rename_no_replace(directory / "a", directory / "b");
  CHECK(read_text(directory / "b" / "x") == "1");
  CHECK_FALSE(fs::exists(directory / "a"));
}

TEST_CASE(
    "rename_no_replace: never replaces, not even an empty folder, a file or a dangling link") {
  const TemporaryDirectory directory;
  put(directory / "a" / "x", "1");
  fs::create_directory(directory / "folder");
  put(directory / "file", "2");
  fs::create_symlink("nowhere", directory / "link");
  for (const char* name : {"folder", "file", "link"}) {
    CAPTURE(name);
    CHECK(kind_of_error([&] { rename_no_replace(directory / "a", directory / name); }) ==
          ErrorKind::kExists);
  }
  CHECK(fs::exists(directory / "a" / "x"));
}

TEST_CASE("rename_exchange: swaps two folders") {
  const TemporaryDirectory directory;
  put(directory / "a" / "x", "1");
  put(directory / "b" / "x", "2");
  rename_exchange(directory / "a", directory / "b");
  CHECK(read_text(directory / "a" / "x") == "2");
  CHECK(read_text(directory / "b" / "x") == "1");
}

TEST_CASE("rename_exchange: needs both to be there") {
  const TemporaryDirectory directory;
  put(directory / "a", "1");
  CHECK(kind_of_error([&] { rename_exchange(directory / "a", directory / "b"); }) ==
        ErrorKind::kNotFound);
  CHECK(read_text(directory / "a") == "1");
}

TEST_CASE("make_directories: makes all of them, and names a file in the way") {
  const TemporaryDirectory directory;
  make_directories(directory / "a/b/c");
  make_directories(directory / "a/b/c");
  CHECK(fs::is_directory(directory / "a/b/c"));
  put(directory / "file", "");
  CHECK_THROWS_AS(make_directories(directory / "file/a"), Error);
}

TEST_CASE("make_directories: makes them while others remove them") {
  const TemporaryDirectory directory;
  const fs::path parent = directory / "a", path = parent / "b";
  std::atomic<bool> done{false};
  std::jthread other([&] {
    // With pauses of all lengths, some of them long enough for two directories.
    for (int i = 0; !done; i = (i + 1) % 100) {
      ::rmdir(path.c_str());
      ::rmdir(parent.c_str());
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(i);
      while (std::chrono::steady_clock::now() < end) {
      }
    }
  });
  std::string failed;
  for (int i = 0; i < 20'000; ++i) {
    try {
      make_directories(path);
    } catch (const Error& error) {
      failed = error.what();
    }
  }
  done = true;
  CHECK(failed == "");
}

TEST_CASE("atomic file: the limit on file sizes is named") {
  const TemporaryDirectory directory;
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto usual = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::string text;
  try {
    write_file(directory / "a", as_bytes(std::string(2000, 'x')));
  } catch (const Error& error) {
    text = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, usual);
  CHECK(text.ends_with("File too large, because of the process's file size limit (ulimit -f)"));
  CHECK(fs::is_empty(directory.path()));
}

}  // namespace packhorse
