#include "storage/http/credentials/sources.h"
#include "support/support.h"
#include "unit/libpack/storage/http/credentials/world.h"

namespace packhorse {

using test::error_of;
using test::kNoon;
using test::says;
using test::World;

namespace {

using Words = std::vector<std::string>;

constexpr const char* kPrints =
    R"('{"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "s", "SessionToken": "t",)"
    R"( "Expiration": "2013-05-24T13:00:00Z"}')";

std::optional<Credentials> by_process(const std::string& command) {
  World world;
  world.files["/home/me/.aws/config"] = "[default]\ncredential_process = " + command;
  return from_process(world.surroundings(), read_profile(world.surroundings()));
}

}  // namespace

TEST_CASE("credential process: a command line is split without a shell") {
  CHECK(split_command("a  b\tc") == Words{"a", "b", "c"});
  CHECK(split_command(R"(/opt/tool 'it is' "a \"b\" $x" c\ d '' e"f"'g')") ==
        Words{"/opt/tool", "it is", "a \"b\" $x", "c d", "", "efg"});
  CHECK(split_command(R"('a\b' "c\d" e\\f)") == Words{R"(a\b)", R"(c\d)", R"(e\f)"});
  CHECK(split_command("  ").empty());
  CHECK(split_command("a;b|c>d$(e)") == Words{"a;b|c>d$(e)"});
  for (const char* const open : {"'a", "a \"b", "\"a\\\""})
    CHECK(test::kind_of_error([&] { split_command(open); }) == ErrorKind::kUsage);
}

TEST_CASE("credential process: what it prints are the credentials") {
  const auto found = by_process(std::string("printf %s ") + kPrints);
  REQUIRE(found);
  CHECK(found->access_key == "A");
  CHECK(found->secret_key == "s");
  CHECK(found->session_token == "t");
  CHECK(found->expires == kNoon + std::chrono::hours(1));
}

TEST_CASE("credential process: one that fails is named, and what it said is not") {
  const auto fails = [](const std::string& command, ErrorKind kind) {
    CAPTURE(command);
    CHECK(test::kind_of_error([&] { by_process(command); }) == kind);
    const std::string error = error_of([&] { by_process(command); });
    CHECK(!says(error, "secret"));
    return error;
  };
  CHECK(says(fails("/bin/sh -c 'echo secret; exit 3'", ErrorKind::kIo), "exit code 3"));
  CHECK(says(fails("/bin/sh -c 'kill -9 $$'", ErrorKind::kIo), "signal 9"));
  CHECK(says(fails("no-such-program-at-all x", ErrorKind::kUsage), "no-such-program-at-all"));
  fails("/nowhere/at-all", ErrorKind::kNotFound);
  fails("''", ErrorKind::kUsage);
  fails("echo secret", ErrorKind::kIo);
  fails("/bin/sh -c 'exec cat /dev/zero'", ErrorKind::kIo);
  fails(R"(echo '{"Version": 2, "AccessKeyId": "A", "SecretAccessKey": "secret"}')",
        ErrorKind::kUnsupported);
  fails(R"(echo '{"Version": 1, "AccessKeyId": "A"}')", ErrorKind::kIo);
}

TEST_CASE("credential process: none is started when the profile names none") {
  World world;
  CHECK(!from_process(world.surroundings(), read_profile(world.surroundings())));
}

}  // namespace packhorse
