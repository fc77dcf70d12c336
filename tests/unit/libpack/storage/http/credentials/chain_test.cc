#include <condition_variable>
#include <cstdlib>
#include <future>
#include <thread>

#include "storage/http/client.h"
#include "storage/http/credentials.h"
#include "storage/http/scripted_server.h"
#include "support/support.h"
#include "unit/libpack/storage/http/credentials/world.h"

namespace packhorse {

using std::chrono::minutes;
using std::chrono::seconds;
using test::error_of;
using test::kNoon;
using test::says;
using test::World;

namespace {

constexpr const char* kService = "GET http://169.254.170.2/a";

std::string answer_of(const std::string& key, const std::string& until) {
  return R"({"AccessKeyId": ")" + key + R"(", "SecretAccessKey": "s", "Expiration": ")" + until +
         "\"}";
}

/// A world with a container's service, which says first that "one" is valid until one o'clock.
struct Served : World {
  Served() {
    variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/a";
    serve(kService, answer_of("one", "2013-05-24T13:00:00Z"));
  }
  std::size_t times_asked() {
    const std::scoped_lock lock(mutex);
    return asked.size();
  }
};

/// A service that answers only when it is told to.
class Gate {
 public:
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void wait_until_asked() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

void put_behind(Gate& gate, World& world, const std::string& answer) {
  world.serve(kService, answer);
  const std::scoped_lock lock(world.mutex);
  world.services[kService] = [&gate, service = world.services[kService]] {
    gate.pass();
    return service();
  };
}

/// Waits for what a thread of the chain will have done.
void wait_for(const std::function<bool()>& done) {
  while (!done()) std::this_thread::yield();
}

}  // namespace

TEST_CASE("credential chain: asks in AWS's order") {
  Served world;
  world.serve("PUT http://169.254.169.254/latest/api/token", "token");
  world.files["/home/me/.aws/credentials"] =
      "[default]\naws_access_key_id = profile\naws_secret_access_key = s\n"
      "[empty]\nregion = eu-west-1\n";
  const auto key = [&] {
    return CredentialChain(world.surroundings(), world.fetch()).get().access_key;
  };
  CHECK(key() == "profile");
  world.variables["AWS_PROFILE"] = "empty";
  CHECK(key() == "one");
  CHECK(world.asked.size() == 1);
  world.variables["AWS_ACCESS_KEY_ID"] = "environment";
  world.variables["AWS_SECRET_ACCESS_KEY"] = "s";
  CHECK(key() == "environment");
}

TEST_CASE("credential chain: without any, it says where it looked") {
  World world;
  CredentialChain chain(world.surroundings(), world.fetch());
  CHECK(test::kind_of_error([&] { chain.get(); }) == ErrorKind::kUsage);
  const std::string error = error_of([&] { chain.get(); });
  for (const char* const part : {"AWS_ACCESS_KEY_ID", "'default'", "/home/me/.aws/credentials",
                                 "/home/me/.aws/config", "did not answer"})
    CHECK(says(error, part));
}

TEST_CASE("credential chain: a profile that is named must be there") {
  Served world;
  world.variables["AWS_PROFILE"] = "no\x1bsuch";
  CredentialChain chain(world.surroundings(), world.fetch());
  CHECK(test::kind_of_error([&] { chain.get(); }) == ErrorKind::kUsage);
  CHECK(says(error_of([&] { chain.get(); }), "'no\\x1bsuch' (AWS_PROFILE)"));
}

TEST_CASE("credential chain: keeps them until five minutes before they end") {
  Served world;
  CredentialChain chain(world.surroundings(), world.fetch());
  CHECK(chain.get().access_key == "one");
  world.pass(minutes(54));
  CHECK(chain.get().access_key == "one");
  CHECK(world.times_asked() == 1);
}

TEST_CASE("credential chain: goes on with the old ones while it asks for new ones") {
  Served world;
  Gate gate;
  CredentialChain chain(world.surroundings(), world.fetch());
  chain.get();
  put_behind(gate, world, answer_of("two", "2013-05-24T15:00:00Z"));
  world.pass(minutes(56));
  CHECK(chain.get().access_key == "one");
  gate.wait_until_asked();
  CHECK(chain.get().access_key == "one");
  CHECK(chain.get().access_key == "one");
  gate.open();
  wait_for([&] { return chain.get().access_key == "two"; });
  CHECK(world.times_asked() == 2);
}

TEST_CASE("credential chain: waits for new ones when the old ones have ended") {
  Served world;
  Gate gate;
  CredentialChain chain(world.surroundings(), world.fetch());
  chain.get();
  put_behind(gate, world, answer_of("two", "2013-05-24T15:00:00Z"));
  world.pass(minutes(60));
  std::vector<std::future<Credentials>> callers;
  for (int i = 0; i < 4; ++i)
    callers.push_back(std::async(std::launch::async, [&] { return chain.get(); }));
  gate.wait_until_asked();
  gate.open();
  for (auto& caller : callers) CHECK(caller.get().access_key == "two");
  CHECK(world.times_asked() == 2);
}

TEST_CASE(
    "credential chain: a renewal that fails is tried again later, and hurts only at the end") {
  Served world;
  CredentialChain chain(world.surroundings(), world.fetch());
  chain.get();
  world.serve(kService, "", 500);
  world.pass(minutes(56));
  CHECK(chain.get().access_key == "one");
  wait_for([&] { return world.times_asked() == 2; });
  world.pass(minutes(1));
  wait_for([&] {
    CHECK(chain.get().access_key == "one");
    return world.times_asked() == 3;
  });
  world.pass(minutes(3));
  CHECK(test::kind_of_error([&] { chain.get(); }) == ErrorKind::kIo);
  world.serve(kService, answer_of("two", "2013-05-24T15:00:00Z"));
  CHECK(chain.get().access_key == "two");
}

TEST_CASE("credential chain: asks anew when a server says they have expired") {
  Served world;
  CredentialChain chain(world.surroundings(), world.fetch());
  chain.get();
  world.serve(kService, answer_of("two", "2013-05-24T15:00:00Z"));
  chain.expired();  // an answer to what was signed before: these are too new
  CHECK(chain.get().access_key == "one");
  world.pass(seconds(11));
  chain.expired();
  CHECK(chain.get().access_key == "two");
  chain.expired();
  CHECK(chain.get().access_key == "two");
  CHECK(world.times_asked() == 2);
}

TEST_CASE("credential chain: a chain that is left while it asks waits for that") {
  Served world;
  Gate gate;
  std::future<void> opened;
  {
    CredentialChain chain(world.surroundings(), world.fetch());
    chain.get();
    put_behind(gate, world, answer_of("two", "2013-05-24T15:00:00Z"));
    world.pass(minutes(56));
    chain.get();
    gate.wait_until_asked();
    opened = std::async(std::launch::async, [&] { gate.open(); });
  }
  CHECK(world.times_asked() == 2);
}

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

using test::reply;
using test::ScriptedServer;
using test::ServerReply;
using test::ServerRequest;

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
