#include "storage/http/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>

#include "base/file.h"
#include "base/text.h"
#include "support/support.h"

namespace packhorse::test {

namespace {

/// Before there are threads: libcurl's would look at the environment meanwhile.
const int no_proxies = ::setenv("no_proxy", "*", 1);

sockaddr* generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

/// A socket bound to a free port.
UniqueFd bound_socket(std::uint16_t& port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(fd.get(), generic(address), size) == 0);
  REQUIRE(::getsockname(fd.get(), generic(address), &size) == 0);
  port = ntohs(address.sin_port);
  return fd;
}

/// Reads until `text` has `size` bytes, or ends in a blank line where `size` is 0.
bool receive(int fd, std::string& text, std::size_t size) {
  std::array<char, 4096> piece{};
  while (size == 0 ? text.find("\r\n\r\n") == std::string::npos : text.size() < size) {
    const ssize_t n = ::recv(fd, piece.data(), piece.size(), 0);
    if (n <= 0) return false;
    text.append(piece.data(), static_cast<std::size_t>(n));
  }
  return true;
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

ServerRequest parse_head(std::string_view head) {
  ServerRequest request;
  const std::size_t first = head.find(' '), second = head.find(' ', first + 1);
  request.method = head.substr(0, first);
  request.target = head.substr(first + 1, second - first - 1);
  head.remove_prefix(head.find("\r\n") + 2);
  while (!head.empty() && !head.starts_with("\r\n")) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    const std::size_t colon = line.find(':');
    request.headers[lower_case(line.substr(0, colon))] =
        line.substr(std::min(line.size(), line.find_first_not_of(' ', colon + 1)));
    head.remove_prefix(line.size() + 2);
  }
  return request;
}

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

ServerReply reply(const std::string& status, const std::string& body, const std::string& headers) {
  return {"HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
          headers + "\r\n" + body};
}

ServerReply serve(const ServerRequest& request, const std::string& content,
                  const std::string& tag) {
  const std::string tag_line = "ETag: " + tag + "\r\n";
  if (request.method == "HEAD") {
    ServerReply head = reply("200 OK", content, tag_line);
    head.bytes.resize(head.bytes.size() - content.size());
    return head;
  }
  const auto range = request.headers.find("range");
  if (range == request.headers.end()) return reply("200 OK", content, tag_line);
  const std::string_view text = std::string_view(range->second).substr(6);  // "bytes="
  const std::size_t dash = text.find('-');
  const std::uint64_t first = number_of(text), last = number_of(text.substr(dash + 1));
  return reply("206 Partial Content", content.substr(first, last - first + 1),
               tag_line + "Content-Range: bytes " + std::string(text) + "/" +
                   std::to_string(content.size()) + "\r\n");
}

ScriptedServer::ScriptedServer(Script script)
    : script_(std::move(script)), listener_(bound_socket(port_)) {
  REQUIRE(no_proxies == 0);
  REQUIRE(::listen(listener_.get(), 64) == 0);
  acceptor_ = std::thread([this] { accept_all(); });
}

ScriptedServer::~ScriptedServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const UniqueFd& fd : connections_) ::shutdown(fd.get(), SHUT_RDWR);
  }
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
}

std::vector<ServerRequest> ScriptedServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void ScriptedServer::accept_all() {
  while (true) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::lock_guard lock(mutex_);
    if (stopping_ || !fd) return;
    const int number = fd.get();
    connections_.push_back(std::move(fd));
    threads_.emplace_back([this, number] { serve_connection(number); });
  }
}

void ScriptedServer::serve_connection(int fd) {
  std::string text;
  while (receive(fd, text, 0)) {
    const std::size_t head = text.find("\r\n\r\n") + 4;
    ServerRequest request = parse_head(std::string_view(text).substr(0, head));
    const std::size_t length = number_of(request.headers["content-length"]);
    if (length > 0 && !receive(fd, text, head + length)) break;
    request.body = text.substr(head, length);
    text.erase(0, head + length);
    ServerReply answer;
    {
      const std::lock_guard lock(mutex_);
      request.number = requests_.size();
      requests_.push_back(request);
      answer = script_(request);
    }
    if (!send_all(fd, answer.bytes)) break;
    if (answer.then == ServerReply::Then::kGoOn) continue;
    if (answer.then == ServerReply::Then::kStall) receive(fd, text, ~std::size_t{0});
    if (answer.then == ServerReply::Then::kTrickle)
      while (send_all(fd, " ")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (answer.then == ServerReply::Then::kReset) {
      const linger hard{1, 0};
      ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
      const std::lock_guard lock(mutex_);
      connections_.remove_if([&](const UniqueFd& one) { return one.get() == fd; });
      return;
    }
    break;
  }
  ::shutdown(fd, SHUT_RDWR);
}

std::string silent_host() {
  std::uint16_t port = 0;
  bound_socket(port);
  return "127.0.0.1:" + std::to_string(port);
}

}  // namespace packhorse::test
