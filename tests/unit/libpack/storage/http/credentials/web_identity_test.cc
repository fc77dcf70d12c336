#include "storage/http/credentials/sources.h"
#include "support/support.h"
#include "unit/libpack/storage/http/credentials/world.h"

namespace packhorse {

using test::error_of;
using test::kNoon;
using test::says;
using test::World;

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
