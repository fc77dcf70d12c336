#include "watch/http_server.h"

#include <vector>

#include "http_client.h"
#include "support/support.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

constexpr const char* kRequest = "GET /text HTTP/1.1\r\nHost: here\r\n\r\n";

std::unique_ptr<HttpServer> serve(const HttpLimits& limits = {},
                                  const std::string& text = "hello") {
  return std::make_unique<HttpServer>(
      "127.0.0.1", 0, "/text", "text/plain", [text] { return text; }, limits);
}

std::string first_line(const std::string& answer) { return answer.substr(0, answer.find('\r')); }

}  // namespace

TEST_CASE("http server: answers one path by GET, and says what else is wrong") {
  const auto server = serve();
  const auto ask = [&](const char* request) {
    return test::HttpClient(server->port()).ask(request);
  };
  const std::string answer = ask(kRequest);
  CHECK(first_line(answer) == "HTTP/1.1 200 OK");
  CHECK(answer.find("Content-Type: text/plain\r\n") != std::string::npos);
  CHECK(answer.ends_with("\r\n\r\nhello"));
  CHECK(first_line(ask("GET /text?a=b HTTP/1.0\r\n\r\n")) == "HTTP/1.1 200 OK");
  CHECK(first_line(ask("GET /other HTTP/1.0\r\n\r\n")) == "HTTP/1.1 404 Not Found");
  CHECK(first_line(ask("POST /text HTTP/1.0\r\n\r\n")) == "HTTP/1.1 405 Method Not Allowed");
}

TEST_CASE("http server: an answer that fails is said, and the next one comes") {
  int asked = 0;
  const HttpServer server("127.0.0.1", 0, "/text", "text/plain", [&]() -> std::string {
    if (++asked == 1) throw std::runtime_error("no figures");
    return "hello";
  });
  CHECK(test::HttpClient(server.port()).ask(kRequest).find(" 500 ") != std::string::npos);
  CHECK(test::HttpClient(server.port()).ask(kRequest).find(" 200 ") != std::string::npos);
}

TEST_CASE("http server: a client that never ends its request holds up neither others nor the end") {
  auto server = serve();
  const test::HttpClient slow(server->port());
  REQUIRE(slow.send("GET /text HTTP/1.1\r\nHost: "));
  CHECK(test::HttpClient(server->port()).ask(kRequest).ends_with("hello"));
  server.reset();  // a server that waits for the client would hang here
  CHECK(slow.receive().empty());
}

TEST_CASE(
    "http server: a client that does not take its answer holds up neither others nor the end") {
  auto server = serve({}, std::string(std::size_t{64} << 20, 'x'));
  const test::HttpClient deaf(server->port());
  REQUIRE(deaf.send(kRequest));
  CHECK(test::HttpClient(server->port()).ask("GET /other HTTP/1.0\r\n\r\n").find(" 404 ") !=
        std::string::npos);
  server.reset();
}

TEST_CASE("http server: the deadline is that of a connection, not of a line") {
  const auto server = serve({.deadline = std::chrono::milliseconds(50)});
  const test::HttpClient slow(server->port());
  REQUIRE(slow.send("GET /text HTTP/1.1\r\n"));
  CHECK(slow.receive().empty());  // returns when the server has closed the connection
  // The client sends lines without a pause: it is cut off while its headers are still within the
  // limit.
  const auto wide = serve({.deadline = std::chrono::milliseconds(50), .header_bytes = 1U << 30});
  const test::HttpClient talker(wide->port());
  bool open = talker.send("GET /text HTTP/1.1\r\n");
  for (int lines = 0; open && lines < 100'000'000; ++lines) open = talker.send("a: b\r\n");
  CHECK_FALSE(open);
}

TEST_CASE("http server: headers beyond the bound, and a body, end the connection") {
  const auto server = serve({.deadline = std::chrono::hours(1), .header_bytes = 8192});
  const test::HttpClient much(server->port());
  bool open = much.send("GET /text HTTP/1.1\r\n");
  for (int lines = 0; open && lines < 10'000'000; ++lines) open = much.send("a: b\r\n");
  CHECK_FALSE(open);
  const test::HttpClient body(server->port());
  CHECK(body.ask("GET /text HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello").empty());
}

TEST_CASE("http server: more clients than it takes at a time are answered when those have gone") {
  // The last one has no longer than the others: long enough for a server that waits for a CPU.
  const auto server = serve({.deadline = std::chrono::milliseconds(500), .connections = 2});
  std::vector<std::unique_ptr<test::HttpClient>> idle;
  for (int i = 0; i < 6; ++i) idle.push_back(std::make_unique<test::HttpClient>(server->port()));
  CHECK(test::HttpClient(server->port()).ask(kRequest).ends_with("hello"));
}
