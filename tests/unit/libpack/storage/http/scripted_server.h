#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/file.h"

namespace packhorse::test {

/// A request as it came.
struct ServerRequest {
  std::string method, target;
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;
  std::size_t number = 0;  ///< of the requests before it, of all connections
};

/// What is sent back, byte by byte, and what becomes of the connection afterwards.
struct ServerReply {
  std::string bytes;
  /// kTrickle: blanks follow, one at a time.
  enum class Then { kGoOn, kClose, kReset, kStall, kTrickle } then = Then::kGoOn;
};

/// An answer with its Content-Length: "206 Partial Content".
ServerReply reply(const std::string& status, const std::string& body = "",
                  const std::string& headers = "");
/// The right answer to a request for a range of `content`, or for all of it, or to HEAD.
ServerReply serve(const ServerRequest& request, const std::string& content,
                  const std::string& tag = "\"t1\"");

/// A web server on 127.0.0.1 that answers as a script says; the script is called by one thread at a
/// time. A program with such a server uses no proxies.
class ScriptedServer {
 public:
  using Script = std::function<ServerReply(const ServerRequest&)>;
  explicit ScriptedServer(Script script);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string url() const { return "http://" + host(); }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  std::vector<ServerRequest> requests() const;
  std::size_t count() const { return requests().size(); }

 private:
  void accept_all();
  void serve_connection(int fd);

  Script script_;
  std::uint16_t port_ = 0;  ///< before the socket, whose making says it
  UniqueFd listener_;
  mutable std::mutex mutex_;
  std::vector<ServerRequest> requests_;
  std::list<UniqueFd> connections_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

/// A port of 127.0.0.1 where nobody answers.
std::string silent_host();

}  // namespace packhorse::test
