#include "packhorse/base/mapped_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "packhorse/base/error.h"
#include "support/support.h"

namespace packhorse::test {

namespace {

constexpr std::size_t kPage = 4096;

bool is_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

/// How a child process that runs `work` ends.
template <class Work>
int end_of_child(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

/// Raises SIGBUS outside of any MappedFile.
void touch_truncated(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const void* foreign = ::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, fd, 0);
  static_cast<void>(::ftruncate(fd, 0));
  static_cast<void>(*static_cast<const volatile char*>(foreign));
}

}  // namespace

TEST_CASE("mapped file: shows the bytes, also when moved; an empty file is empty") {
  const TemporaryDirectory directory;
  put(directory / "a", "hello");
  put(directory / "empty", "");
  MappedFile first(directory / "a");
  MappedFile second(std::move(first));
  CHECK(as_text(second.bytes()) == "hello");
  second = MappedFile(directory / "empty");
  CHECK(second.bytes().empty());
  CHECK_FALSE(second.truncated());
}

TEST_CASE("mapped file: what is cut off reads as zeros and is known to be truncated") {
  const TemporaryDirectory directory;
  put(directory / "a", std::string(5 * kPage, 'x'));
  const MappedFile file(directory / "a");
  CHECK(file.bytes().back() == std::byte{'x'});
  std::filesystem::resize_file(directory / "a", 2 * kPage);
  CHECK(file.bytes()[kPage] == std::byte{'x'});
  CHECK_FALSE(file.truncated());
  CHECK(is_zero(file.bytes().subspan(2 * kPage)));
  CHECK(file.truncated());
}

TEST_CASE("mapped file: a truncated one says nothing of another, nor of the next in its place") {
  const TemporaryDirectory directory;
  put(directory / "a", std::string(2 * kPage, 'x'));
  put(directory / "b", std::string(2 * kPage, 'y'));
  const MappedFile other(directory / "b");
  {
    const MappedFile file(directory / "a");
    std::filesystem::resize_file(directory / "a", 0);
    CHECK(is_zero(file.bytes()));
    CHECK(file.truncated());
  }
  const MappedFile next(directory / "b");
  CHECK_FALSE(next.truncated());
  CHECK_FALSE(other.truncated());
}

TEST_CASE("mapped file: bytes stay readable after a release and a removal of the file") {
  const TemporaryDirectory directory;
  put(directory / "a", std::string(3 * kPage, 'x'));
  const MappedFile file(directory / "a");
  file.will_need({kPage + 1, 10});
  file.will_need({2 * kPage, 100 * kPage});  // beyond the end
  std::filesystem::remove(directory / "a");
  file.release();
  CHECK(std::count(file.bytes().begin(), file.bytes().end(), std::byte{'x'}) == 3 * kPage);
  CHECK_FALSE(file.truncated());
}

TEST_CASE("mapped file: a bus error elsewhere still ends the program") {
  const TemporaryDirectory directory;
  put(directory / "a", std::string(kPage, 'x'));
  const MappedFile ours(directory / "a");
  const int status = end_of_child([&] { touch_truncated(directory / "a"); });
  CHECK(!(WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("mapped file: a handler installed later is passed by, and gets what is not ours") {
  const TemporaryDirectory directory;
  put(directory / "a", std::string(2 * kPage, 'x'));
  put(directory / "foreign", std::string(kPage, 'x'));
  const MappedFile ours(directory / "a");
  const int status = end_of_child([&] {
    ::signal(SIGBUS, [](int) { ::_exit(42); });
    MappedFile::arm();
    std::filesystem::resize_file(directory / "a", 0);
    if (!is_zero(ours.bytes()) || !ours.truncated()) ::_exit(1);
    touch_truncated(directory / "foreign");
  });
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 42);
}

TEST_CASE("mapped file: a handler that sends the signal again does so once") {
  const TemporaryDirectory directory;
  put(directory / "foreign", std::string(kPage, 'x'));
  put(directory / "a", "x");
  const MappedFile ours(directory / "a");
  const int status = end_of_child([&] {
    static int calls;
    calls = 0;
    ::signal(SIGBUS, [](int signal) {
      if (++calls > 1) ::_exit(42);
      ::raise(signal);  // as faulthandler does, once it has restored the handler before: ours
    });
    MappedFile::arm();
    touch_truncated(directory / "foreign");
  });
  CHECK(status != 0);
  CHECK_FALSE((WIFEXITED(status) && WEXITSTATUS(status) == 42));
}

TEST_CASE("mapped file: a file that is not there is kNotFound") {
  const TemporaryDirectory directory;
  CHECK(kind_of_error([&] { MappedFile(directory / "a"); }) == ErrorKind::kNotFound);
}

}  // namespace packhorse::test
