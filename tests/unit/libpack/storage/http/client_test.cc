#include "storage/http/client.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>

#include "storage/http/scripted_server.h"
#include "support/support.h"

namespace packhorse {

using std::chrono::milliseconds;
using test::reply;
using test::ScriptedServer;
using test::ServerReply;
using test::ServerRequest;
using Then = ServerReply::Then;

namespace {

StorageOptions quick(int retries = 3) {
  StorageOptions options;
  options.retries = retries;
  return options;
}

/// For servers that stall. One that is only slow, on a busy machine, seems to; the retries are for
/// that.
StorageOptions impatient() {
  StorageOptions options = quick(50);
  options.stall = milliseconds(300);
  return options;
}

HttpRequest get(const ScriptedServer& server, const std::string& target = "/a") {
  HttpRequest request;
  request.url = server.url() + target;
  request.shown = "http://shown/a";
  return request;
}

/// A GET whose body goes into `into`.
HttpRequest get_into(const ScriptedServer& server, std::span<std::byte> into) {
  HttpRequest request = get(server);
  request.into = into;
  request.collect = false;
  return request;
}

/// Takes 2xx, has 5xx and 429 repeated.
std::exception_ptr usual(const HttpResponse& response, bool* repeat) {
  if (response.status >= 200 && response.status <= 299) return nullptr;
  *repeat = response.status == 429 || response.status >= 500;
  return std::make_exception_ptr(
      Error(ErrorKind::kIo, "status " + std::to_string(response.status), "http://shown/a"));
}

HttpResponse perform(HttpClient& client, const HttpRequest& request) {
  return client.perform([&] { return request; }, usual);
}

Error error_of(HttpClient& client, const HttpRequest& request) {
  try {
    perform(client, request);
  } catch (const Error& error) {
    return error;
  }
  FAIL("no Error was thrown");
  return Error(ErrorKind::kUsage, "");
}

std::string text_of(const HttpResponse& response) { return std::string(as_text(response.body)); }

}  // namespace

TEST_CASE("http client: collects a body, and has headers by lower case") {
  ScriptedServer server([](const ServerRequest& request) {
    return reply("200 OK", request.headers.at("x-mine"), "ETag: \"e\"\r\n");
  });
  HttpClient client(quick());
  HttpRequest request = get(server);
  request.headers = {{"x-mine", "hello"}};
  const HttpResponse response = perform(client, request);
  CHECK(text_of(response) == "hello");
  CHECK(response.header("etag") == "\"e\"");
  CHECK(!response.header("nothing"));
  const ServerRequest seen = server.requests().at(0);
  CHECK(seen.headers.at("accept-encoding") == "identity");
  CHECK(seen.headers.count("authorization") == 0);
  CHECK(client.counters().requests == 1);
  CHECK(client.counters().bytes == 5);
  CHECK(client.counters().failed == 0);
}

TEST_CASE("http client: sends a body, also an empty one, by any method") {
  ScriptedServer server([](const ServerRequest& request) {
    return reply("200 OK", request.method + " " + request.body);
  });
  HttpClient client(quick());
  HttpRequest request = get(server);
  request.method = "PUT";
  request.body = as_bytes("some");
  CHECK(text_of(perform(client, request)) == "PUT some");
  request.body = {};
  CHECK(text_of(perform(client, request)) == "PUT ");
  CHECK(server.requests().at(1).headers.at("content-length") == "0");
  CHECK(server.requests().at(0).headers.count("expect") == 0);
}

TEST_CASE("http client: keeps its connection, and HEAD has no body") {
  ScriptedServer server([](const ServerRequest& request) { return test::serve(request, "12345"); });
  HttpClient client(quick());
  HttpRequest head = get(server);
  head.method = "HEAD";
  for (int i = 0; i < 3; ++i) CHECK(perform(client, head).header("content-length") == "5");
}

TEST_CASE("http client: a body goes where it should, and must have exactly that length") {
  ScriptedServer server([](const ServerRequest& request) {
    return reply("200 OK", request.number == 0 ? "12345" : request.number == 1 ? "123456" : "1234");
  });
  HttpClient client(quick());
  std::array<std::byte, 5> into{};
  CHECK(perform(client, get_into(server, into)).body.empty());
  CHECK(as_text(into) == "12345");
  CHECK(error_of(client, get_into(server, into)).kind() == ErrorKind::kCorrupt);
  CHECK(error_of(client, get_into(server, into)).kind() == ErrorKind::kCorrupt);
  CHECK(server.count() == 3);
  CHECK(client.counters().failed == 2);
}

TEST_CASE("http client: a body in chunks is held to its length, too") {
  ScriptedServer server([](const ServerRequest& request) {
    const std::string body = request.number == 0 ? "3\r\n123\r\n2\r\n45\r\n0\r\n\r\n"
                                                 : "3\r\n123\r\n3\r\n456\r\n0\r\n\r\n";
    return ServerReply{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body};
  });
  HttpClient client(quick());
  std::array<std::byte, 5> into{};
  perform(client, get_into(server, into));
  CHECK(as_text(into) == "12345");
  CHECK(error_of(client, get_into(server, into)).kind() == ErrorKind::kCorrupt);
}

TEST_CASE("http client: a cut body, a reset and an end without an answer are repeated") {
  const std::string whole = reply("200 OK", "12345").bytes;
  ScriptedServer server([&](const ServerRequest& request) -> ServerReply {
    if (request.number == 0) return {whole.substr(0, whole.size() - 2), Then::kClose};
    if (request.number == 1) return {whole.substr(0, whole.size() - 2), Then::kReset};
    if (request.number == 2) return {"", Then::kClose};
    return {whole};
  });
  HttpClient client(quick(5));
  std::array<std::byte, 5> into{};
  perform(client, get_into(server, into));
  CHECK(as_text(into) == "12345");
  CHECK(client.counters().requests >= 4);
  CHECK(client.counters().retries >= 3);
}

TEST_CASE("http client: a body that ends with its connection may not be short") {
  ScriptedServer server([](const ServerRequest& request) {
    return ServerReply{
        "HTTP/1.1 200 OK\r\n\r\n" + std::string(request.number == 0 ? "123" : "12345"),
        Then::kClose};
  });
  HttpClient client(quick());
  std::array<std::byte, 5> into{};
  perform(client, get_into(server, into));
  CHECK(as_text(into) == "12345");
  CHECK(server.count() == 2);
}

TEST_CASE("http client: a stall is repeated, before the answer and within its body") {
  const std::string whole = reply("200 OK", "12345").bytes;
  ScriptedServer server([&](const ServerRequest& request) -> ServerReply {
    if (request.number == 0) return {"", Then::kStall};
    if (request.number == 1) return {whole.substr(0, whole.size() - 2), Then::kStall};
    return {whole};
  });
  HttpClient client(impatient());
  std::array<std::byte, 5> into{};
  perform(client, get_into(server, into));
  CHECK(as_text(into) == "12345");
  CHECK(server.count() >= 3);
}

TEST_CASE("http client: a server that sends a byte now and then is given up") {
  ScriptedServer server([](const ServerRequest&) -> ServerReply {
    return {"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", Then::kTrickle};
  });
  StorageOptions options = quick(0);  // far longer than a byte takes to come on a busy machine
  options.stall = milliseconds(250);
  options.connect = milliseconds(1000);
  HttpClient client(options);
  const Error error = error_of(client, get(server));
  CHECK(error.kind() == ErrorKind::kIo);
  CHECK(std::string(error.what()).find("the server is too slow: ") == 0);
}

TEST_CASE("http client: what stays as it is is given up, and says after how many tries") {
  ScriptedServer server([](const ServerRequest&) { return reply("503 Busy"); });
  HttpClient client(quick(2));
  const Error error = error_of(client, get(server));
  CHECK(error.what() == std::string("status 503, after 3 tries"));
  CHECK(error.path() == "http://shown/a");
  CHECK(server.count() == 3);
  CHECK(client.counters().retries == 2);
  CHECK(client.counters().failed == 1);
}

TEST_CASE("http client: Retry-After is heeded, or the request given up") {
  ScriptedServer server([](const ServerRequest& request) {
    if (request.number == 0) return reply("503 Busy", "", "Retry-After: 0\r\n");
    if (request.number == 1) return reply("200 OK", "yes");
    return reply("429 Too Many", "", "Retry-After: 3600\r\n");
  });
  HttpClient client(quick());
  CHECK(text_of(perform(client, get(server))) == "yes");
  CHECK(error_of(client, get(server)).what() == std::string("status 429"));
  CHECK(server.count() == 3);
}

TEST_CASE("http client: a request is made anew for each try") {
  ScriptedServer server([](const ServerRequest& request) {
    return request.target == "/3" ? reply("200 OK", "third") : reply("500 Fault");
  });
  HttpClient client(quick());
  int tries = 0;
  const auto make = [&] { return get(server, "/" + std::to_string(++tries)); };
  CHECK(text_of(client.perform(make, usual)) == "third");
}

TEST_CASE("http client: what cannot be made, and what is not accepted by mistake, is told") {
  ScriptedServer server([](const ServerRequest&) { return reply("200 OK"); });
  HttpClient client(quick());
  const auto no_make = []() -> HttpRequest { throw Error(ErrorKind::kUsage, "no"); };
  CHECK(test::kind_of_error([&] { client.perform(no_make, usual); }) == ErrorKind::kUsage);
  const auto no_accept = [](const HttpResponse&, bool*) -> std::exception_ptr {
    throw Error(ErrorKind::kCorrupt, "no");
  };
  CHECK(test::kind_of_error([&] { client.perform([&] { return get(server); }, no_accept); }) ==
        ErrorKind::kCorrupt);
  HttpRequest split = get(server);
  split.headers = {{"x", "a\r\nb: c"}};
  CHECK(error_of(client, split).kind() == ErrorKind::kUsage);
  CHECK(server.count() == 1);
}

TEST_CASE("http client: headers and collected bodies have bounds") {
  ScriptedServer server([](const ServerRequest& request) {
    if (request.target == "/headers")
      return reply(
          "200 OK", "",
          "X: " + std::string(30'000, 'x') + "\r\nY: " + std::string(40'000, 'y') + "\r\n");
    if (request.target == "/chunks")
      return ServerReply{
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n12345678901\r\n"
          "0\r\n\r\n"};
    return reply("200 OK", "12345678901");
  });
  HttpClient client(quick());
  for (const char* target : {"/headers", "/length", "/chunks"}) {
    CAPTURE(target);
    HttpRequest request = get(server, target);
    request.most = 10;
    CHECK(error_of(client, request).kind() == ErrorKind::kCorrupt);
  }
  CHECK(server.count() == 3);
}

TEST_CASE("http client: of an answer for messages 64 KiB are kept") {
  ScriptedServer server([](const ServerRequest& request) {
    return reply("404 None", std::string(request.number == 0 ? 100'000 : 5'000'000, 'x'));
  });
  HttpClient client(quick());
  const auto take = [](const HttpResponse&, bool*) { return std::exception_ptr(); };
  for (int i = 0; i < 2; ++i) {
    std::array<std::byte, 5> into{};
    const HttpResponse response = client.perform([&] { return get_into(server, into); }, take);
    CHECK(response.status == 404);
    CHECK(response.body.size() == 64u << 10);
    CHECK(into[0] == std::byte{0});
  }
}

TEST_CASE("http client: redirects are followed, five at most, and never with secrets") {
  ScriptedServer elsewhere([](const ServerRequest&) { return reply("200 OK", "elsewhere"); });
  ScriptedServer server([&](const ServerRequest& request) {
    const int left = request.target[1] - '0';
    const std::string next = left > 1 ? "/" + std::to_string(left - 1) : elsewhere.url() + "/there";
    return reply("302 Found", "moved", "Location: " + next + "\r\n");
  });
  HttpClient client(quick());
  HttpRequest five = get(server, "/5"), six = get(server, "/6"), one = get(server, "/1");
  CHECK(text_of(perform(client, five)) == "elsewhere");
  CHECK(error_of(client, six).kind() == ErrorKind::kIo);
  REQUIRE(elsewhere.count() == 1);
  for (const char* secret : {"Authorization", "x-amz-security-token", "Cookie"}) {
    CAPTURE(secret);
    one.headers = {{secret, "s"}};
    CHECK(error_of(client, one).what() == std::string("status 302"));
  }
  CHECK(elsewhere.count() == 1);
}

TEST_CASE("http client: redirects lead to no link-local address") {
  for (const std::string to :
       {"http://169.254.169.254/latest/meta-data", "HTTP://169.254.0.1/", "//169.254.169.254/",
        "http://[fd00:ec2::254]/", "http://[::ffff:169.254.169.254]/",
        "http://me@169.254.169.254:80/", "http://[fe80::1%25eth0]/", "http://[FEBF::1]:80/"}) {
    CAPTURE(to);
    ScriptedServer server(
        [&](const ServerRequest&) { return reply("302 Found", "", "Location: " + to + "\r\n"); });
    HttpClient client(quick(0));
    const Error error = error_of(client, get(server));
    CHECK(error.kind() == ErrorKind::kUnsupported);
    CHECK(std::string(error.what()) == "the server leads to a link-local address");
  }
}

TEST_CASE("http client: redirects lead to no other protocol") {
  ScriptedServer server([](const ServerRequest&) {
    return reply("302 Found", "", "Location: file:///etc/passwd\r\n");
  });
  HttpClient client(quick());
  CHECK(error_of(client, get(server)).kind() == ErrorKind::kIo);
  CHECK(server.count() == 1);
}

TEST_CASE("http client: where nobody answers, three tries are made") {
  HttpClient client(quick(8));
  HttpRequest request;
  request.url = "http://" + test::silent_host() + "/a?secret";
  const Error error = error_of(client, request);
  CHECK(error.kind() == ErrorKind::kIo);
  CHECK(std::string(error.what()).find("after 3 tries") != std::string::npos);
  CHECK(std::string(error.what()).find("secret") == std::string::npos);
}

TEST_CASE("http client: no more requests at once than there may be") {
  std::atomic<int> started{0};
  ScriptedServer server([&](const ServerRequest&) {
    CHECK(started <= 2);
    return reply("200 OK", std::string(50'000, 'x'));
  });
  StorageOptions options = quick();
  options.most_requests = 2;
  HttpClient client(options);
  std::atomic<int> ended{0};
  std::promise<void> all;
  for (int i = 0; i < 50; ++i) {
    client.start(
        [&] {
          ++started;
          return get(server);
        },
        [&](const HttpResponse&, bool*) {
          --started;
          return std::exception_ptr();
        },
        [&](const HttpOutcome& outcome) {
          CHECK(outcome.response.body.size() == 50'000);
          if (++ended == 50) all.set_value();
        });
  }
  all.get_future().wait();
  CHECK(client.counters().requests == 50);
  CHECK(client.counters().bytes == 50u * 50'000);
}

TEST_CASE("http client: an owner's requests can be given up, others go on") {
  ScriptedServer server([](const ServerRequest& request) {
    return request.target == "/stall" ? ServerReply{"", Then::kStall} : reply("200 OK", "fine");
  });
  StorageOptions options = quick(0);
  options.stall = std::chrono::minutes(10);
  options.most_requests = 3;
  HttpClient client(options);
  const int owner = 0;
  std::atomic<int> given_up{0};
  // More than may be under way: some of them wait.
  for (int i = 0; i < 5; ++i) {
    client.start([&] { return get(server, "/stall"); }, usual,
                 [&](const HttpOutcome& outcome) {
                   if (test::kind_of_error([&] { std::rethrow_exception(outcome.error); }) ==
                       ErrorKind::kInterrupted)
                     ++given_up;
                 },
                 &owner);
  }
  client.give_up(&owner);
  CHECK(given_up == 5);
  CHECK(text_of(perform(client, get(server))) == "fine");
  CHECK(client.counters(&owner).requests == 0);
}

TEST_CASE("http client: an owner may begin anew at once") {
  ScriptedServer server([](const ServerRequest&) { return reply("200 OK", "fine"); });
  HttpClient client(quick(0));
  const int owner = 0;
  for (int i = 0; i < 200; ++i) {
    client.give_up(&owner);
    CHECK(text_of(client.perform([&] { return get(server); }, usual, &owner)) == "fine");
  }
}

TEST_CASE("http client: its end gives up what is under way, and what waits") {
  ScriptedServer server([](const ServerRequest&) { return ServerReply{"", Then::kStall}; });
  StorageOptions options = quick();
  options.stall = std::chrono::minutes(10);
  options.most_requests = 1;
  std::atomic<int> ended{0};
  {
    HttpClient client(options);
    for (int i = 0; i < 3; ++i) {
      client.start([&] { return get(server); }, usual,
                   [&](const HttpOutcome& outcome) {
                     if (outcome.error) ++ended;
                   });
    }
  }
  CHECK(ended == 3);
}

TEST_CASE("http client: a forked process is told to open the storage itself") {
  ScriptedServer server([](const ServerRequest&) { return reply("200 OK"); });
  HttpClient client(quick());
  perform(client, get(server));
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      perform(client, get(server));
    } catch (const Error& error) {
      ::_exit(error.kind() == ErrorKind::kUsage ? 0 : 2);
    }
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("http client: shared by those whose options say the same about connections") {
  StorageOptions one = quick(), same = quick(), other = quick(7);
  same.region = "elsewhere";
  const auto client = shared_client(one);
  CHECK(shared_client(same) == client);
  CHECK(shared_client(other) != client);
}

}  // namespace packhorse
