#include <cstdlib>

#include "storage/http/credentials.h"
#include "support/support.h"

namespace packhorse {

TEST_CASE("surroundings: those of the process") {
  const test::TemporaryDirectory directory;
  const Surroundings around = Surroundings::of_process();
  ::setenv("PACKHORSE_TEST_VARIABLE", "", 1);
  CHECK(around.variable("PACKHORSE_TEST_VARIABLE") == "");
  ::unsetenv("PACKHORSE_TEST_VARIABLE");
  CHECK(!around.variable("PACKHORSE_TEST_VARIABLE"));
  test::put(directory / "a", "text\n");
  CHECK(around.file(directory / "a") == "text\n");
  CHECK(!around.file(directory / "b"));
  CHECK(!around.file(directory / "a" / "b"));
  CHECK(!around.file("/proc/self/status")->empty());
  CHECK(test::kind_of_error([&] { around.file(directory.path()); }) == ErrorKind::kIo);
  CHECK(test::kind_of_error([&] { around.file("/dev/zero"); }) == ErrorKind::kUsage);
  CHECK(test::kind_of_error([&] { around.file("s3://bucket/a"); }) == ErrorKind::kUsage);
}

}  // namespace packhorse
