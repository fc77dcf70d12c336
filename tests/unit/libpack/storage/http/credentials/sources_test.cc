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
    CHECK(says(error_of([&] { profile_keys(world); }),
               "export-credentials --format env --profile default"));
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

TEST_CASE("answer: times are read as services write them") {
  CHECK(parse_time("2013-05-24T12:00:00Z") == kNoon);
  CHECK(parse_time("2013-05-24t12:00:00z") == kNoon);
  CHECK(parse_time("2013-05-24 12:00:00.123456789Z") == kNoon);
  CHECK(parse_time("2013-05-24T14:30:00+02:30") == kNoon);
  CHECK(parse_time("2013-05-24T11:00:00-0100") == kNoon);
  CHECK(*parse_time("9999-12-31T23:59:59Z") > kNoon + std::chrono::years(100));
}

TEST_CASE("answer: what is not a time is none") {
  for (const char* const text :
       {"", "2013", "2013-05-24", "2013-05-24T12:00:00", "2013-05-24T12:00:00.Z",
        "2013-05-24T12:00:00.5", "2013-05-24T12:00:00+1", "2013-05-24T12:00:00+01:0",
        "2013-05-24T12:00:00Zx", "2013-02-30T12:00:00Z", "2013-13-01T12:00:00Z",
        "2013-05-24T24:00:00Z", "2013-05-24T12:60:00Z", "2013-05-24T12:00:61Z",
        "2013-05-24T1:00:000Z", "-013-05-24T12:00:00Z", "1969-12-31T23:59:59Z",
        "2013-05-24T12:00:00+24:00", "Fri, 24 May 2013 12:00:00 GMT"}) {
    CAPTURE(text);
    CHECK(!parse_time(text));
  }
}

TEST_CASE("answer: JSON gives its fields") {
  const CredentialFields fields = fields_in_json(
      R"({"Code": "Success", "AccessKeyId": "A", "SecretAccessKey": "s", "Token": "t",)"
      R"( "Expiration": "2013-05-24T13:00:00Z", "More": [1]})",
      "Token", "it");
  const Credentials credentials = checked_credentials(fields, "it", kNoon);
  CHECK(credentials.access_key == "A");
  CHECK(credentials.secret_key == "s");
  CHECK(credentials.session_token == "t");
  CHECK(credentials.expires == kNoon + std::chrono::hours(1));
}

TEST_CASE("answer: credentials may stay") {
  const CredentialFields fields = fields_in_json(
      R"({"AccessKeyId": "A", "SecretAccessKey": "s", "Expiration": null})", "Token", "it");
  CHECK(!checked_credentials(fields, "it", kNoon).expires);
}

TEST_CASE("answer: an error does not show what it holds") {
  for (const std::string json :
       {"", "secret", "[\"secret\"]", R"({"AccessKeyId": "secret")",
        R"({"AccessKeyId": ["secret"]})", R"({"AccessKeyId": "A", "SecretAccessKey": 1})",
        R"({"AccessKeyId": "A", "SecretAccessKey": "secret" x})"}) {
    CAPTURE(json);
    CHECK(test::kind_of_error([&] { fields_in_json(json, "Token", "it"); }) == ErrorKind::kIo);
    CHECK(!test::says(test::error_of([&] { fields_in_json(json, "Token", "it"); }), "secret"));
  }
  const std::string deep = R"({"AccessKeyId": )" + std::string(1000, '[') + "}";
  CHECK(test::kind_of_error([&] { fields_in_json(deep, "Token", "it"); }) == ErrorKind::kIo);
  const std::string long_answer = R"({"AccessKeyId": ")" + std::string(200'000, 'a') + "\"}";
  CHECK(test::kind_of_error([&] { fields_in_json(long_answer, "Token", "it"); }) == ErrorKind::kIo);
}

TEST_CASE("answer: keys that cannot be are refused without showing them") {
  const CredentialFields wrong[] = {{"", "secret", "", ""},
                                    {"A", "", "secret", ""},
                                    {"A", "secret\r\nx: y", "", ""},
                                    {"A secret", "s", "", ""},
                                    {"A", "s", "secret\n", ""},
                                    {"A", "s", "secret\xc3\xbc", ""},
                                    {std::string(2000, 'A'), "secret", "", ""},
                                    {"A", "s", std::string(40'000, 't'), ""},
                                    {"A", "secret", "", "tomorrow"},
                                    {"A", "secret", "", "2013-05-24T12:00:00Z"}};
  for (const CredentialFields& fields : wrong) {
    CHECK(test::kind_of_error([&] { checked_credentials(fields, "it", kNoon); }) == ErrorKind::kIo);
    const std::string error = test::error_of([&] { checked_credentials(fields, "it", kNoon); });
    CHECK(error.starts_with("it "));
    CHECK(!test::says(error, "secret"));
  }
}

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

namespace {

constexpr const char* kRole = "arn:aws:iam::1:role/a";
/// As in AWS's reference of AssumeRoleWithWebIdentity.
constexpr const char* kTokenAnswer =
    "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
    "<AssumeRoleWithWebIdentityResult><Audience>client</Audience><Credentials>"
    "<SessionToken>t+/=</SessionToken><SecretAccessKey>s</SecretAccessKey>"
    "<Expiration>2013-05-24T13:00:00Z</Expiration><AccessKeyId>A</AccessKeyId></Credentials>"
    "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>";

/// A pod with a token in a file.
struct Pod : World {
  Pod() {
    variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/var/token";
    variables["AWS_ROLE_ARN"] = kRole;
    files["/var/token"] = "ey.J+\n";
  }
  std::optional<Credentials> ask() {
    return from_web_identity_variables(surroundings(), fetch(), read_profile(surroundings()));
  }
};

}  // namespace

TEST_CASE("web identity: a token is exchanged at the token service of the region") {
  Pod pod;
  pod.variables["AWS_REGION"] = "eu-west-1";
  pod.serve("POST https://sts.eu-west-1.amazonaws.com/", kTokenAnswer);
  const auto found = pod.ask();
  REQUIRE(found);
  CHECK(found->access_key == "A");
  CHECK(found->secret_key == "s");
  CHECK(found->session_token == "t+/=");
  CHECK(found->expires == kNoon + std::chrono::hours(1));
  CHECK(pod.asked.at(0).patience == Patience::kFar);
  CHECK(pod.asked.at(0).body ==
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%"
        "2Fa&RoleSessionName=packhorse&WebIdentityToken=ey.J%2B");
}

TEST_CASE("web identity: the service may be elsewhere, and the session has a name") {
  Pod pod;
  pod.variables["AWS_ENDPOINT_URL"] = "http://minio:9000";
  pod.variables["AWS_ENDPOINT_URL_S3"] = "http://other:9000";
  pod.variables["AWS_ROLE_SESSION_NAME"] = "me";
  pod.serve("POST http://minio:9000/", kTokenAnswer);
  CHECK(pod.ask());
  CHECK(says(pod.asked.at(0).body, "&RoleSessionName=me&"));
}

TEST_CASE("web identity: the profile's") {
  World world;
  world.files["/home/me/.aws/config"] =
      "[default]\nweb_identity_token_file = ~/token\nrole_arn = arn\nrole_session_name = one\n"
      "region = eu-west-1\n";
  world.files["/home/me/token"] = "token";
  world.serve("POST https://sts.eu-west-1.amazonaws.com/", kTokenAnswer);
  const Profile profile = read_profile(world.surroundings());
  CHECK(from_web_identity_profile(world.surroundings(), world.fetch(), profile));
  CHECK(!from_web_identity_variables(world.surroundings(), world.fetch(), profile));
  CHECK(says(world.asked.at(0).body, "&RoleArn=arn&RoleSessionName=one&WebIdentityToken=token"));
}

TEST_CASE("web identity: a role and a token belong together") {
  Pod pod;
  pod.variables.erase("AWS_ROLE_ARN");
  CHECK(test::kind_of_error([&] { pod.ask(); }) == ErrorKind::kUsage);
  pod.variables.erase("AWS_WEB_IDENTITY_TOKEN_FILE");
  pod.variables["AWS_ROLE_ARN"] = kRole;
  CHECK(!pod.ask());
}

TEST_CASE("web identity: a token that is not there, or none, is named by its file") {
  Pod pod;
  pod.files.erase("/var/token");
  CHECK(test::kind_of_error([&] { pod.ask(); }) == ErrorKind::kNotFound);
  for (const std::string& text :
       {std::string(), std::string("secret secret"), std::string(30'000, 's')}) {
    pod.files["/var/token"] = text;
    CHECK(test::kind_of_error([&] { pod.ask(); }) == ErrorKind::kUsage);
    CHECK(says(error_of([&] { pod.ask(); }), "/var/token"));
    CHECK(!says(error_of([&] { pod.ask(); }), "secret"));
  }
  CHECK(pod.asked.empty());
}

TEST_CASE("web identity: a refusal says the service's code, and nothing else of its answer") {
  Pod pod;
  const auto answer = [&](std::string_view text, int status) {
    pod.serve("POST https://sts.us-east-1.amazonaws.com/", text, status);
    CHECK(test::kind_of_error([&] { pod.ask(); }) == ErrorKind::kIo);
    return error_of([&] { pod.ask(); });
  };
  const std::string refused = answer(
      "<ErrorResponse><Error><Code>AccessDenied</Code><Message>secret</Message></Error>"
      "</ErrorResponse>",
      403);
  CHECK(says(refused, "HTTP 403, AccessDenied"));
  CHECK(says(refused, kRole));
  CHECK(!says(refused, "secret"));
  CHECK(!says(answer("<ErrorResponse><Error><Code>a secret</Code></Error></ErrorResponse>", 400),
              "secret"));
  CHECK(!says(answer("secret", 400), "secret"));
  CHECK(!says(answer("", 200), "secret"));
  CHECK(!says(answer("<AssumeRoleWithWebIdentityResponse>secret", 200), "secret"));
  answer(std::string_view(kTokenAnswer).substr(0, 300), 200);
}

}  // namespace packhorse
