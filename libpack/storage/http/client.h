#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packhorse/base/bytes.h"
#include "storage/object_store.h"

/// HTTP/1.1 and /2 over libcurl's multi interface: threads of its own drive all requests. Servers
/// are always verified, proxies are those of the environment. Redirects, five at most, are followed
/// only by requests without a body and without secrets in their headers, and never from https to
/// http.
namespace packhorse {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = "GET";
  std::string url;    ///< encoded, with its query; never shown
  std::string shown;  ///< the URL for messages
  HttpHeaders headers = {};
  Bytes body = {};  ///< lives until `done`
  /// Where the body of a 2xx answer goes, which must have exactly this length; when `collect` is
  /// set, it is collected instead, up to `most` bytes. Of any other answer's body, which is for
  /// messages, the first 64 KiB are collected.
  std::span<std::byte> into = {};
  bool collect = true;
  std::uint64_t most = 1u << 20;
};

struct HttpResponse {
  int status = 0;
  std::vector<std::byte> body = {};  ///< where it was collected, and of answers other than 2xx
  HttpHeaders headers = {};          ///< names in lower case; at most 64 KiB of them
  /// The value of a header, or nothing.
  std::optional<std::string_view> header(std::string_view name) const;
};

/// One try of a request, without repetition. An exception stands for an answer that did not come:
/// connection refused or broken, stalled, cut, longer than it may be.
struct HttpOutcome {
  HttpResponse response;
  std::exception_ptr error;
  bool may_repeat = false;  ///< of an error: the fault may go by
};

/// Thread-safe. Threads start with the first request. Not for processes made by fork() afterwards:
/// there every request is Error(kUsage).
class HttpClient {
 public:
  explicit HttpClient(const StorageOptions& options);
  /// Gives up the requests under way; their `done` is called first. Not in a thread of the client,
  /// so whoever is the last to hold one must not be something that `done` lets go.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Makes the request anew for each try, as signatures bear the time: just before it is sent, in a
  /// thread that does nothing else, so that it may wait for credentials (not by this client).
  using Make = std::function<HttpRequest()>;
  /// `accept` looks at an answer: nullptr to take it, or an error. With `*repeat` set, that error
  /// may go by (429, 5xx; it has Retry-After in the headers). It must not block. A body that goes
  /// into `into` may still be cut when it is called.
  using Accept = std::function<std::exception_ptr(const HttpResponse&, bool* repeat)>;
  using Done = std::function<void(HttpOutcome)>;

  /// Sends it when there is room among the requests under way, and repeats it, with growing pauses
  /// and jitter (Retry-After counts), within StorageOptions::retries and retry_time. `done` is
  /// called once, in a thread of the client; it must neither block nor throw. `owner` is a name for
  /// give_up() and counters(). A stop of the calling thread (base/stop.h) gives it up.
  void start(Make make, Accept accept, Done done, const void* owner = nullptr);
  /// The same, waiting for it. Throws the error. Not from `make` or `done`.
  HttpResponse perform(Make make, Accept accept, const void* owner = nullptr);
  /// Ends the requests of an owner by Error(kInterrupted), waits until their `done` has returned,
  /// and forgets its counters. In a thread of the client it does not wait. What the owner has
  /// started must hold the owner's address, as the last of it may still be on its way then.
  void give_up(const void* owner);

  StorageCounters counters(const void* owner = nullptr) const;

 private:
  class Reactor;
  std::unique_ptr<Reactor> reactor_;
};

/// A client for these options, shared by all in the process whose options say the same about
/// connections. It lives until the process ends: stores may go in a thread of it.
std::shared_ptr<HttpClient> shared_client(const StorageOptions& options);

}  // namespace packhorse
