#include "base/output_file.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <future>

#include "support/support.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::put;
using test::TemporaryDirectory;

/// A copy of a memory device (1: its major number): the machine's own stays out of danger.
bool make_device(const fs::path& path, unsigned minor) {
  return ::mknod(path.c_str(), S_IFCHR | 0600, ::makedev(1, minor)) == 0;
}
constexpr unsigned kNull = 3, kFull = 7;

}  // namespace

TEST_CASE("output file: a regular file is replaced when all is there, and not before") {
  const TemporaryDirectory directory;
  put(directory / "a", "earlier");
  {
    OutputFile file(directory / "a");
    file.write(as_bytes("later"));
  }
  CHECK(read_text(directory / "a") == "earlier");
  CHECK_FALSE(write_output(directory / "a", as_bytes("later")));
  CHECK(read_text(directory / "a") == "later");
  CHECK(std::distance(fs::directory_iterator(directory.path()), {}) == 1);
}

TEST_CASE("output file: links stay, and what the last one names is written") {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "folder");
  put(directory / "folder/there", "earlier");
  fs::create_symlink("folder/there", directory / "a");
  fs::create_symlink("a", directory / "b");
  fs::create_symlink("new", directory / "folder/c");
  write_output(directory / "b", as_bytes("later"));
  write_output(directory / "folder/c", as_bytes("new"));
  for (const char* link : {"a", "b", "folder/c"}) CHECK(fs::is_symlink(directory / link));
  CHECK(read_text(directory / "folder/there") == "later");
  CHECK(read_text(directory / "folder/new") == "new");
  fs::create_symlink("loop", directory / "loop");
  CHECK(kind_of_error([&] { write_output(directory / "loop", {}); }) == ErrorKind::kIo);
}

TEST_CASE("output file: a FIFO is written into, once somebody reads it") {
  const TemporaryDirectory directory;
  const fs::path fifo = directory / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const std::string text(3u << 20, 'x');
  auto reader = std::async(std::launch::async, [&] {
    const UniqueFd fd = open_file(fifo, O_RDONLY);
    std::string read;
    std::array<char, 65536> piece{};
    for (ssize_t n; (n = ::read(fd.get(), piece.data(), piece.size())) > 0;)
      read.append(piece.data(), static_cast<std::size_t>(n));
    return read;
  });
  write_output(fifo, as_bytes(text));
  CHECK(reader.get() == text);
  CHECK(fs::is_fifo(fifo));
  std::stop_source stop;
  stop.request_stop();
  CHECK(kind_of_error([&] { write_output(fifo, {}, stop.get_token()); }) ==
        ErrorKind::kInterrupted);
}

TEST_CASE("output file: a device is written into, and a full one is an error") {
  const TemporaryDirectory directory;
  const fs::path null = directory / "null", full = directory / "full";
  if (!make_device(null, kNull) || !make_device(full, kFull)) return;  // not root
  write_output(null, as_bytes("text"));
  CHECK(fs::is_character_file(null));
  CHECK(kind_of_error([&] { write_output(full, as_bytes("text")); }) == ErrorKind::kNoSpace);
  CHECK(fs::is_character_file(full));
}

TEST_CASE("output file: what this process has open is written into, by whatever name") {
  const TemporaryDirectory directory;
  const UniqueFd log = open_file(directory / "log", O_WRONLY | O_CREAT | O_APPEND);
  append_exactly(log.get(), as_bytes("first "), "log");
  fs::create_symlink("/proc/self/fd/" + std::to_string(log.get()), directory / "link");
  write_output(directory / "link", as_bytes("second "));
  write_output("/dev/fd/" + std::to_string(log.get()), as_bytes("third"));
  CHECK(read_text(directory / "log") == "first second third");
  CHECK(fs::is_symlink(directory / "link"));
}

TEST_CASE("output file: directories, sockets, URLs and places that are not there are refused") {
  const TemporaryDirectory directory;
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{AF_UNIX, {}};
  const std::string path = directory / "socket";
  REQUIRE(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  for (const auto& refuse : {+[](const fs::path& place) { write_output(place, {}); },
                             +[](const fs::path& place) { check_output(place); }}) {
    const auto kind = [&](const fs::path& place) { return kind_of_error([&] { refuse(place); }); };
    CHECK(kind(directory.path()) == ErrorKind::kUsage);
    CHECK(kind(path) == ErrorKind::kUsage);
    CHECK(kind("s3://bucket/file") == ErrorKind::kUsage);
    CHECK(kind(directory / "no/file") == ErrorKind::kNotFound);
  }
  CHECK(fs::is_socket(path));
  check_output(directory / "new");
  CHECK(std::distance(fs::directory_iterator(directory.path()), {}) == 1);
}

TEST_CASE("output file: nothing that is read is replaced, by whatever name") {
  const TemporaryDirectory directory;
  fs::create_directories(directory / "source/inner");
  put(directory / "source/inner/1.jpg", "image");
  put(directory / "labels.csv", "path,label");
  fs::create_symlink("source", directory / "link");
  fs::create_hard_link(directory / "labels.csv", directory / "other");
  const std::vector<fs::path> inputs = {directory / "source", directory / "none",
                                        directory / "labels.csv"};
  for (const char* name : {"labels.csv", "other", "source/inner/1.jpg", "link/inner/1.jpg"})
    CHECK(kind_of_error([&] { refuse_replacing(directory / name, inputs); }) == ErrorKind::kUsage);
  for (const char* name : {"new", "source/new", "source/inner", ""})
    refuse_replacing(name[0] == 0 ? fs::path() : directory / name, inputs);
  CHECK(kind_of_error([&] {
          refuse_replacing(directory / "source/inner/1.jpg", {directory / "source/*/1*.jpg"});
        }) == ErrorKind::kUsage);
}

TEST_CASE("output file: a text replaces texts alone") {
  const TemporaryDirectory directory;
  put(directory / "binary", std::string("a\0b", 3));
  put(directory / "latin", "caf\xe9 caf\xe9");
  put(directory / "text", std::string(4095, 'a') + "\u00e9");
  for (const char* name : {"binary", "latin"})
    CHECK(kind_of_error([&] { refuse_replacing(directory / name, {}); }) == ErrorKind::kUsage);
  refuse_replacing(directory / "text", {});
  refuse_replacing(directory / "binary", {}, OutputContent::kBytes);
}

}  // namespace packhorse
