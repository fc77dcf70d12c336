#include <atomic>
#include <chrono>
#include <utility>

#include "base/ascii.h"
#include "packhorse/base/error.h"
#include "storage/http/credentials.h"
#include "storage/http/sigv4.h"
#include "storage/http/web_requests.h"

namespace packhorse {

namespace {

/// SHA-256 of no bytes: the body of all requests here.
constexpr const char* kEmptyPayload =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr std::uint64_t kMostListBytes = 16u << 20;  // 1000 keys of 1 KiB, all of it escaped

/// Where requests go: the scheme, the host as the Host header has it, and what comes before keys.
struct BucketPlace {
  std::string scheme, host;
  std::string path;  ///< decoded, "" or "/bucket"
};

/// The host as libcurl sends it: without the port that its scheme has anyway.
std::string sent_host(const Url& endpoint) {
  const std::string usual = endpoint.scheme == "https" ? ":443" : ":80";
  std::string host = lower_case(endpoint.host);
  if (host.ends_with(usual) && host.find(']') != host.size() - usual.size() + 1)
    host.resize(host.size() - usual.size());
  return host;
}

BucketPlace bucket_place(const S3Place& place, const std::string& bucket) {
  const Url endpoint = parse_url(place.endpoint);
  if (endpoint.scheme == "s3" || !endpoint.query.empty()) {
    throw Error(ErrorKind::kUsage, "the endpoint must be a URL of http or https without a query",
                endpoint.shown(), "check AWS_ENDPOINT_URL_S3");
  }
  BucketPlace result{endpoint.scheme, sent_host(endpoint), ""};
  if (!endpoint.path.empty()) result.path = "/" + endpoint.path;
  // A certificate for *.s3.amazonaws.com is none for a bucket with dots.
  if (place.virtual_host && bucket.find('.') == std::string::npos) {
    result.host = bucket + "." + result.host;
  } else {
    result.path += "/" + bucket;
  }
  return result;
}

/// For credentials that are asked for over HTTP: the storage's own client waits for them.
StorageOptions options_for_credentials() {
  StorageOptions options;
  options.most_requests = 2;
  options.stall = std::chrono::seconds(5);
  options.connect = std::chrono::seconds(2);
  options.retries = 3;
  options.retry_time = std::chrono::seconds(20);
  return options;
}

class S3Requests final : public WebRequests {
 public:
  S3Requests(const Url& place, const StorageOptions& options)
      : place_(place),
        s3_(s3_place(options, Surroundings::of_process())),
        bucket_(bucket_place(s3_, place.host)),
        client_(options_for_credentials()) {
    if (!options.anonymous) chain_.emplace(client_, Surroundings::of_process());
  }

  HttpRequest make(const std::string& method, const std::string& name,
                   HttpHeaders headers) override {
    const Url url = place_.below(name);
    HttpRequest request;
    request.method = method;
    request.shown = url.shown();
    ToSign to_sign;
    to_sign.path = bucket_.path + "/" + url.path;
    to_sign.headers = std::move(headers);
    complete(request, std::move(to_sign));
    return request;
  }

  bool renew(const std::string&, bool expired) override {
    if (!chain_ || !expired) return false;
    expired_ = true;
    return true;
  }

  std::optional<HttpRequest> make_list(const std::string& prefix,
                                       const std::string& token) override {
    HttpRequest request;
    request.shown = place_.shown();
    request.most = kMostListBytes;
    ToSign to_sign;
    to_sign.path = bucket_.path.empty() ? "/" : bucket_.path;
    to_sign.query = {{"list-type", "2"}, {"max-keys", "1000"}, {"prefix", prefix}};
    if (!token.empty()) to_sign.query.emplace_back("continuation-token", token);
    complete(request, std::move(to_sign));
    return request;
  }

 private:
  /// Fills in URL and headers.
  void complete(HttpRequest& request, ToSign to_sign) {
    to_sign.method = request.method;
    to_sign.host = bucket_.host;
    to_sign.payload_hash = kEmptyPayload;
    const std::string query = canonical_query(to_sign.query);
    request.url = bucket_.scheme + "://" + bucket_.host + percent_encoded(to_sign.path, true) +
                  (query.empty() ? "" : "?" + query);
    if (!chain_) {
      request.headers = std::move(to_sign.headers);
      return;
    }
    if (expired_.exchange(false)) chain_->expired();
    request.headers = signed_headers(to_sign, chain_->get(), s3_.region, "s3",
                                     std::chrono::system_clock::now());
  }

  const Url place_;
  const S3Place s3_;
  const BucketPlace bucket_;
  HttpClient client_;
  std::optional<CredentialChain> chain_;
  std::atomic<bool> expired_{false};  ///< told to the chain by whoever may wait for it
};

}  // namespace

std::unique_ptr<WebRequests> s3_requests(const Url& place, const StorageOptions& options) {
  return std::make_unique<S3Requests>(place, options);
}

}  // namespace packhorse
