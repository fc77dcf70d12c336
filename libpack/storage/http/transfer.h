#pragma once

#include <curl/curl.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "storage/http/client.h"

namespace packhorse {

template <auto Free>
struct CurlDeleter {
  template <class Handle>
  void operator()(Handle* handle) const {
    Free(handle);
  }
};
using EasyHandle = std::unique_ptr<CURL, CurlDeleter<curl_easy_cleanup>>;
using MultiHandle = std::unique_ptr<CURLM, CurlDeleter<curl_multi_cleanup>>;
using HeaderList = std::unique_ptr<curl_slist, CurlDeleter<curl_slist_free_all>>;

/// One try of a request, as libcurl carries it out. Belongs to the thread of its loop.
class Transfer {
 public:
  using Clock = std::chrono::steady_clock;
  /// Told once how it ended. Must not throw.
  using Finished = std::function<void(const Transfer&, HttpOutcome)>;

  /// `owner` and `task` are names by which it can be given up.
  Transfer(HttpRequest request, const void* owner, const void* task, Finished finished);

  bool is_of(const void* name) const { return name == owner_ || name == task_; }
  bool collects() const { return request_.collect; }
  std::uint64_t received() const { return received_; }  ///< bytes of the answer's body
  /// The same, and those of the request's.
  std::uint64_t moved() const { return received_ + request_.body.size(); }
  Clock::time_point began() const { return began_; }

  /// Tells a fresh handle what to do; the handle must stay as it is until the end. `certificates`:
  /// a file of those to trust; empty: libcurl's own choice. Throws Error(kUsage | kUnsupported).
  void begin(CURL* handle, const StorageOptions& options, const std::string& certificates);
  /// When it has stalled, unless something comes before.
  Clock::time_point deadline() const;

  /// The ends, one of which comes once: by libcurl, by the clock, or by an error of our own.
  void end(CURLcode code);
  void end_stalled();
  void end_by(std::exception_ptr error, bool may_repeat);

 private:
  void set_target(CURL* handle);
  void set_headers(CURL* handle);
  void set_limits(CURL* handle, const StorageOptions& options, const std::string& certificates);
  void set_callbacks(CURL* handle);
  Clock::time_point pace_ends() const;
  bool take_header(std::string_view line);
  bool take_head_end();
  bool take_body(Bytes piece);
  bool refuse(ErrorKind kind, const std::string& what);
  bool refuse_link_local();
  std::exception_ptr failure_of(CURLcode code, bool* may_repeat) const;
  bool is_success() const { return response_.status >= 200 && response_.status <= 299; }

  HttpRequest request_;
  const void *owner_, *task_;
  Finished finished_;
  std::chrono::milliseconds stall_{0}, connect_{0};
  HeaderList headers_;
  HttpResponse response_;
  std::exception_ptr refusal_;    ///< why a callback stopped the transfer
  bool enough_ = false;           ///< a callback stopped it, and the answer will do
  std::size_t header_bytes_ = 0;  ///< of all answers, those of redirects included
  std::size_t filled_ = 0;        ///< of `into`
  std::uint64_t received_ = 0;
  std::int64_t sent_ = 0;
  bool connected_ = false;
  bool led_ = false;  ///< an answer led elsewhere
  Clock::time_point began_{}, heard_{};
  char reason_[CURL_ERROR_SIZE] = {};
};

}  // namespace packhorse
