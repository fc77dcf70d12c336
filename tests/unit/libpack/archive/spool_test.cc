#include "archive/spool.h"

#include "support/support.h"

namespace packhorse {

namespace {

using test::kind_of_error;
using test::TemporaryDirectory;

std::string read(const Spool& spool, std::uint64_t offset, std::size_t length) {
  std::string text(length, '?');
  spool.read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace

TEST_CASE("spool: bytes are read back from where they were appended") {
  const TemporaryDirectory root;
  Spool spool(root.path());
  const std::string large(3u << 20, 'x');
  CHECK(spool.append(as_bytes("one")) == 0);
  CHECK(spool.append(as_bytes(large)) == 3);
  CHECK(spool.append(as_bytes("end")) == 3 + large.size());
  spool.seal();
  CHECK(read(spool, 0, 3) == "one");
  CHECK(read(spool, 3, large.size()) == large);
  CHECK(read(spool, 3 + large.size(), 3) == "end");
}

TEST_CASE("spool: has no name in its directory") {
  const TemporaryDirectory root;
  Spool spool(root.path());
  spool.append(as_bytes("one"));
  spool.seal();
  CHECK(std::filesystem::is_empty(root.path()));
}

TEST_CASE("spool: makes no file before there is something to hold") {
  const Spool spool("/nowhere/at/all");
  CHECK(spool.size() == 0);
  CHECK(spool.fd() == -1);
}

TEST_CASE("spool: what was taken back is written over") {
  const TemporaryDirectory root;
  Spool spool(root.path());
  const std::string large(3u << 20, 'x');
  spool.append(as_bytes("one"));
  spool.append(as_bytes(large));
  spool.cut(3);
  CHECK(spool.append(as_bytes("two")) == 3);
  spool.append(as_bytes("three"));
  spool.cut(6);
  spool.append(as_bytes("four"));
  spool.seal();
  CHECK(spool.size() == 10);
  CHECK(read(spool, 0, 10) == "onetwofour");
}

TEST_CASE("spool: in place of a directory that is not there, the one above it is taken") {
  const TemporaryDirectory root;
  Spool spool(root / "not" / "yet");
  CHECK(spool.append(as_bytes("one")) == 0);
  CHECK(std::filesystem::is_empty(root.path()));
}

TEST_CASE("spool: a place that is no directory is an error") {
  const TemporaryDirectory root;
  test::put(root / "file", "x");
  Spool spool(root / "file");
  CHECK(kind_of_error([&] { spool.append(as_bytes("x")); }) == ErrorKind::kNotFound);
}

}  // namespace packhorse
