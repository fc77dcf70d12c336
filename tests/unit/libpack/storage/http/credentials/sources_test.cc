#include "storage/http/credentials/sources.h"

#include "support/support.h"
#include "unit/libpack/storage/http/credentials/world.h"

namespace packhorse {

using test::error_of;
using test::kNoon;
using test::says;
using test::World;

namespace {

constexpr const char* kAnswer = R"({"AccessKeyId": "A", "SecretAccessKey": "s", "Token": "t",)"
                                R"( "Expiration": "2013-05-24T13:00:00Z"})";
constexpr const char* kTokenUrl = "PUT http://169.254.169.254/latest/api/token";
constexpr const char* kRolesUrl =
    "GET http://169.254.169.254/latest/meta-data/iam/security-credentials/";

void check_answered(const std::optional<Credentials>& found) {
  REQUIRE(found);
  CHECK(found->access_key == "A");
  CHECK(found->secret_key == "s");
  CHECK(found->session_token == "t");
  CHECK(found->expires == kNoon + std::chrono::hours(1));
}

std::optional<Credentials> profile_keys(World& world) {
  return from_profile_keys(world.surroundings(), read_profile(world.surroundings()));
}

std::optional<Credentials> container(World& world) {
  return from_container(world.surroundings(), world.fetch());
}

std::optional<Credentials> instance(World& world, std::string* why_not = nullptr) {
  std::string why;
  auto found = from_instance(world.surroundings(), world.fetch(), why);
  if (why_not != nullptr) *why_not = why;
  return found;
}

}  // namespace

TEST_CASE("credentials: the environment's") {
  World world;
  CHECK(!from_environment(world.surroundings()));
  world.variables["AWS_ACCESS_KEY_ID"] = "A";
  world.variables["AWS_SECRET_ACCESS_KEY"] = "s";
  world.variables["AWS_SESSION_TOKEN"] = "";
  const auto found = from_environment(world.surroundings());
  REQUIRE(found);
  CHECK(found->access_key == "A");
  CHECK(found->session_token.empty());
  CHECK(!found->expires);
}

TEST_CASE("credentials: half of a pair, or one with a line break, is refused") {
  World world;
  world.variables["AWS_SECRET_ACCESS_KEY"] = "secret";
  const auto ask = [&] { from_environment(world.surroundings()); };
  CHECK(test::kind_of_error(ask) == ErrorKind::kUsage);
  world.variables["AWS_ACCESS_KEY_ID"] = "A";
  world.variables["AWS_SECRET_ACCESS_KEY"] = "secret\n";
  CHECK(test::kind_of_error(ask) == ErrorKind::kUsage);
  CHECK(!says(error_of(ask), "secret"));
}

TEST_CASE("credentials: the profile's keys, those of the file for keys first") {
  World world;
  world.files["/home/me/.aws/config"] =
      "[default]\naws_access_key_id = C\naws_secret_access_key = c\naws_session_token = ct\n"
      "[profile two]\naws_access_key_id = D\naws_secret_access_key = d\naws_session_token = dt\n";
  world.files["/home/me/.aws/credentials"] =
      "[default]\naws_access_key_id = K\naws_secret_access_key = k\n";
  CHECK(profile_keys(world)->access_key == "K");
  CHECK(profile_keys(world)->session_token.empty());
  world.variables["AWS_PROFILE"] = "two";
  CHECK(profile_keys(world)->secret_key == "d");
  CHECK(profile_keys(world)->session_token == "dt");
  world.variables["AWS_PROFILE"] = "three";
  CHECK(!profile_keys(world));
}

TEST_CASE("credentials: a profile that needs more than keys says how to come by them") {
  World world;
  for (const char* const setting :
       {"source_profile = x\naws_access_key_id = K\naws_secret_access_key = k",
        "credential_source = Ec2InstanceMetadata", "sso_session = x", "sso_start_url = x"}) {
    CAPTURE(setting);
    world.files["/home/me/.aws/config"] = std::string("[default]\n") + setting;
    CHECK(test::kind_of_error([&] { profile_keys(world); }) == ErrorKind::kUnsupported);
    CHECK(says(error_of([&] { profile_keys(world); }), "export-credentials --profile default"));
  }
}

TEST_CASE("credentials: a container's, by a path") {
  World world;
  CHECK(!container(world));
  world.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/credentials/1-2";
  world.serve("GET http://169.254.170.2/v2/credentials/1-2", kAnswer);
  check_answered(container(world));
  CHECK(world.asked.at(0).patience == Patience::kNear);
  CHECK(world.asked.at(0).header("authorization") == "(none)");
}

TEST_CASE("credentials: a container's, by a URL, with a token that is read each time") {
  World world;
  world.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://169.254.170.23/v1/credentials";
  world.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = "/var/token";
  world.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "unused";
  world.serve("GET http://169.254.170.23/v1/credentials", kAnswer);
  CHECK(test::kind_of_error([&] { container(world); }) == ErrorKind::kNotFound);
  world.files["/var/token"] = "one\n";
  check_answered(container(world));
  world.files["/var/token"] = "two";
  check_answered(container(world));
  CHECK(world.asked.at(0).header("authorization") == "one");
  CHECK(world.asked.at(1).header("authorization") == "two");
  world.files["/var/token"] = "secret\r\nx: y";
  CHECK(!says(error_of([&] { container(world); }), "secret"));
  CHECK(world.asked.size() == 2);
}

TEST_CASE("credentials: a container's service is on this machine, or encrypted") {
  World world;
  std::string& url = world.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"];
  for (const char* const near :
       {"https://example.com/a", "http://localhost:80/a", "http://127.0.0.1:1/a",
        "http://127.255.0.3/a", "http://[::1]/a", "http://[0:0::1]:1/a", "http://169.254.170.2/a",
        "http://169.254.170.23/a", "http://[fd00:ec2::23]/a?b=c"}) {
    CAPTURE(near);
    url = near;
    world.serve("GET " + url, kAnswer);
    check_answered(container(world));
  }
  for (const char* const far :
       {"http://example.com/a", "http://169.254.169.254/a", "http://169.254.170.22/a",
        "http://10.0.0.1/a", "http://127.1/a", "http://127.0.0.1.example.com/a",
        "http://localhost.example.com/a", "http://[fd00:ec2::24]/a", "http://[::ffff:127.0.0.1]/a",
        "http://0x7f.0.0.1/a", "http://2130706433/a", "http://127.0.0.1@example.com/a",
        "s3://localhost/a", "ftp://localhost/a", "localhost", "http://localhost/a b",
        "http://localhost/a\nb"}) {
    CAPTURE(far);
    url = far;
    world.serve("GET " + url, kAnswer);
    CHECK(test::kind_of_error([&] { container(world); }) == ErrorKind::kUsage);
  }
  url = "";
  world.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "@example.com/a";
  CHECK(test::kind_of_error([&] { container(world); }) == ErrorKind::kUsage);
}

TEST_CASE("credentials: a container's service that refuses is named") {
  World world;
  world.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/a?id=secret";
  world.serve("GET http://169.254.170.2/a?id=secret", R"({"message": "secret"})", 403);
  CHECK(test::kind_of_error([&] { container(world); }) == ErrorKind::kIo);
  const std::string error = error_of([&] { container(world); });
  CHECK(says(error, "403"));
  CHECK(says(error, "http://169.254.170.2/a"));
  CHECK(!says(error, "secret"));
}

TEST_CASE("credentials: an instance's, by a token") {
  World world;
  world.serve(kTokenUrl, "metadata-token");
  world.serve(kRolesUrl, "a role@x\nanother\n");
  world.serve(std::string(kRolesUrl) + "a_role%40x", kAnswer);
  CHECK(test::kind_of_error([&] { instance(world); }) == ErrorKind::kIo);
  world.serve(kRolesUrl, "a_role@x\nanother\n");
  world.asked.clear();
  check_answered(instance(world));
  REQUIRE(world.asked.size() == 3);
  CHECK(world.asked[0].header("x-aws-ec2-metadata-token-ttl-seconds") == "60");
  CHECK(world.asked[0].patience == Patience::kNear);
  CHECK(world.asked[1].header("x-aws-ec2-metadata-token") == "metadata-token");
  CHECK(world.asked[2].header("x-aws-ec2-metadata-token") == "metadata-token");
}

TEST_CASE("credentials: an instance without metadata, token or role has none, and why") {
  World world;
  std::string why_not;
  CHECK(!instance(world, &why_not));
  CHECK(why_not == "did not answer");
  world.serve(kTokenUrl, "", 403);
  CHECK(!instance(world, &why_not));
  CHECK(why_not == "gave no token: HTTP 403");
  world.serve(kTokenUrl, "token");
  world.serve(kRolesUrl, "<html>", 404);
  CHECK(!instance(world, &why_not));
  CHECK(why_not == "has no role");
  world.variables["AWS_EC2_METADATA_DISABLED"] = "True";
  world.asked.clear();
  CHECK(!instance(world, &why_not));
  CHECK(says(why_not, "AWS_EC2_METADATA_DISABLED"));
  CHECK(world.asked.empty());
}

TEST_CASE("credentials: the instance's metadata may be elsewhere") {
  World world;
  world.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "http://[fd00:ec2::254]/";
  instance(world);
  CHECK(world.asked.at(0).url == "http://[fd00:ec2::254]/latest/api/token");
}

}  // namespace packhorse
