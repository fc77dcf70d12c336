#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace packhorse::trainer {

/// The limits of a client of an HttpServer.
struct HttpLimits {
  std::chrono::milliseconds deadline = std::chrono::seconds(10);  ///< for a connection as a whole
  std::size_t header_bytes = 8192;                                ///< request line and headers
  int connections = 16;  ///< at a time; others wait until one ends
};

/// Answers `GET PATH` with a text, one request per connection, from a thread of its own:
///
///     const HttpServer server("127.0.0.1", 9400, "/metrics", "text/plain", [] { return text(); });
///
/// Clients are not trusted: one that is slow or sends too much is cut off, and holds up neither the
/// others nor the destructor. Boost.Beast reads and writes. cpp-httplib would limit only the time
/// of a single read, and its stop() waits for the clients.
class HttpServer {
 public:
  /// `port` 0: any free port. The server's thread calls `answer`. Throws std::runtime_error when
  /// that address and port cannot be served.
  HttpServer(const std::string& address, int port, std::string path, std::string content_type,
             std::function<std::string()> answer, const HttpLimits& limits = {});
  /// Returns when `answer` is no longer running.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace packhorse::trainer
