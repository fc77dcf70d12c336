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
#include "packhorse/storage/object_store.h"

/// HTTP/1.1 and /2 over libcurl's multi interface: threads of its own drive all requests.
namespace packhorse {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = "GET";
  std::string url;        ///< encoded, with its query; never shown
  std::string shown;      ///< the URL for messages
  HttpHeaders headers = {};
  Bytes body = {};        ///< lives until `done`
  /// Where the body of a 2xx answer goes, which must have exactly this length; when `collect` is
  /// set, it is collected instead, up to `most` bytes.
  std::span<std::byte> into = {};
  bool collect = true;
  std::uint64_t most = 1u << 20;  ///< also of the body of any other answer, which is for messages
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

class HttpClient {
 public:
  explicit HttpClient(const StorageOptions& options);
  ~HttpClient();  ///< waits for requests under way to be given up; their `done` is called
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Makes the request anew for each try, as signatures bear the time.
  using Make = std::function<HttpRequest()>;
  /// `accept` looks at an answer: nullptr to take it, or an error. With `*repeat` set, that error may
  /// go by (429, 5xx; it has Retry-After in the headers).
  using Accept = std::function<std::exception_ptr(const HttpResponse&, bool* repeat)>;
  using Done = std::function<void(HttpOutcome)>;

  /// Sends it when there is room among the requests under way, and repeats it, with growing pauses
  /// and jitter (Retry-After counts), within StorageOptions::retries and retry_time. `done` is
  /// called once, in a thread of the client; it must neither block nor throw. Thread-safe.
  void start(Make make, Accept accept, Done done);
  /// The same, waiting for it. Throws the error. Not from `done`.
  HttpResponse perform(Make make, Accept accept);

  StorageCounters counters() const;

 private:
  class Reactor;
  std::unique_ptr<Reactor> reactor_;
};

}  // namespace packhorse
