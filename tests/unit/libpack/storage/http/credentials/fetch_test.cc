#include "storage/http/client.h"
#include "storage/http/credentials.h"
#include "storage/http/scripted_server.h"
#include "support/support.h"
#include "unit/libpack/storage/http/credentials/world.h"

namespace packhorse {

using test::error_of;
using test::reply;
using test::says;
using test::ScriptedServer;
using test::ServerReply;
using test::ServerRequest;
using test::World;

namespace {

constexpr const char* kKeys = R"({"AccessKeyId": "A", "SecretAccessKey": "s", "Token": "t",)"
                              R"( "Expiration": "2013-05-24T13:00:00Z"})";

/// A chain in that world, over HTTP.
Credentials over_http(World& world) { return CredentialChain(world.surroundings()).get(); }

}  // namespace

TEST_CASE("credentials over HTTP: an instance's, with a token that a PUT gives") {
  const std::string roles = "/latest/meta-data/iam/security-credentials/";
  ScriptedServer server([&](const ServerRequest& request) {
    if (request.method == "PUT" && request.target == "/latest/api/token")
      return reply("200 OK", "TOKEN");
    const auto token = request.headers.find("x-aws-ec2-metadata-token");
    if (token == request.headers.end() || token->second != "TOKEN")
      return reply("401 Unauthorized");
    if (request.target == roles) return reply("200 OK", "role\n");
    return request.target == roles + "role" ? reply("200 OK", kKeys) : reply("404 Not Found");
  });
  World world;
  world.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = server.url();
  CHECK(over_http(world).session_token == "t");
  REQUIRE(server.count() == 3);
  CHECK(server.requests()[0].headers.at("x-aws-ec2-metadata-token-ttl-seconds") == "60");
  CHECK(server.requests()[0].body.empty());
}

TEST_CASE("credentials over HTTP: a container's token goes nowhere else by a redirect") {
  ScriptedServer other([](const ServerRequest&) { return reply("200 OK", kKeys); });
  bool sends_on = false;
  ScriptedServer server([&](const ServerRequest&) {
    return sends_on ? reply("302 Found", "", "Location: " + other.url() + "/a\r\n")
                    : reply("200 OK", kKeys);
  });
  World world;
  world.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server.url() + "/a?b=c";
  world.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "secret";
  CHECK(over_http(world).access_key == "A");
  CHECK(server.requests().at(0).target == "/a?b=c");
  CHECK(server.requests().at(0).headers.at("authorization") == "secret");
  sends_on = true;
  CHECK(says(error_of([&] { over_http(world); }), "HTTP 302"));
  CHECK(other.count() == 0);
}

TEST_CASE("credentials over HTTP: a web identity is posted") {
  ScriptedServer server([](const ServerRequest&) {
    return reply("403 Forbidden",
                 "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>");
  });
  World world;
  world.variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/token";
  world.variables["AWS_ROLE_ARN"] = "arn";
  world.variables["AWS_ENDPOINT_URL_STS"] = server.url();
  world.files["/token"] = "secret";
  const std::string error = error_of([&] { over_http(world); });
  CHECK(says(error, "HTTP 403, AccessDenied"));
  CHECK(!says(error, "secret"));
  const ServerRequest request = server.requests().at(0);
  CHECK(request.method == "POST");
  CHECK(request.target == "/");
  CHECK(request.headers.at("content-type") == "application/x-www-form-urlencoded");
  CHECK(says(request.body, "&RoleArn=arn&"));
  CHECK(request.body.ends_with("&WebIdentityToken=secret"));
}

TEST_CASE("credentials over HTTP: a service that is overloaded is asked again, and then named") {
  ScriptedServer server([](const ServerRequest& request) {
    return request.number == 0 ? reply("503 Slow Down") : reply("200 OK", kKeys);
  });
  World world;
  world.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server.url() + "/a";
  CHECK(over_http(world).access_key == "A");
  CHECK(server.count() == 2);
  ScriptedServer broken([](const ServerRequest&) { return reply("500 No"); });
  world.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = broken.url() + "/a";
  CHECK(test::kind_of_error([&] { over_http(world); }) == ErrorKind::kIo);
  CHECK(says(error_of([&] { over_http(world); }), broken.url() + "/a"));
}

TEST_CASE("credentials over HTTP: a service that is not there, or says too much") {
  World world;
  world.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "http://" + test::silent_host();
  CHECK(says(error_of([&] { over_http(world); }), "did not answer"));
  ScriptedServer server(
      [](const ServerRequest&) { return reply("200 OK", std::string(1u << 20, 'x')); });
  world.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server.url() + "/a";
  CHECK(test::kind_of_error([&] { over_http(world); }) != ErrorKind::kUsage);
}

}  // namespace packhorse
