#include "storage/http/web_requests.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "base/text.h"
#include "packhorse/base/error.h"
#include "storage/http/credentials.h"
#include "storage/http/sigv4.h"
#include "storage/http/url_command.h"

namespace packhorse {

namespace {

/// SHA-256 of no bytes.
constexpr const char* kEmptyPayload =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr std::uint64_t kMostListBytes = 16u << 20;  // 1000 keys of 1 KiB, all of it escaped

/// Where requests go: the scheme, the host as the Host header has it, and what comes before keys.
struct BucketPlace {
  std::string scheme, host;
  std::string path;  ///< decoded, "" or "/bucket"
};

/// A certificate for *.s3.amazonaws.com is none for a bucket with dots, and names of hosts have no
/// capitals.
bool may_be_host(const std::string& bucket) {
  return bucket.find('.') == std::string::npos && bucket == lower_case(bucket);
}

BucketPlace bucket_place(const S3Place& place, const std::string& bucket) {
  const Url endpoint = parse_url(place.endpoint);
  if (endpoint.scheme == "s3" || !endpoint.query.empty()) {
    throw Error(ErrorKind::kUsage, "the endpoint must be a URL of http or https without a query",
                endpoint.shown(), "check AWS_ENDPOINT_URL_S3");
  }
  // parse_url() has taken off the port that the scheme has anyway, as libcurl does.
  BucketPlace result{endpoint.scheme, endpoint.host, ""};
  if (!endpoint.path.empty()) result.path = "/" + endpoint.path;
  if (place.virtual_host && may_be_host(bucket)) {
    result.host = bucket + "." + result.host;
  } else {
    result.path += "/" + bucket;
  }
  return result;
}

class S3Requests final : public WebRequests {
 public:
  S3Requests(const Url& place, const StorageOptions& options)
      : place_(place), requester_pays_(options.requester_pays) {
    move_to(s3_place(options, Surroundings::of_process()));
    if (!options.anonymous) chain_.emplace(Surroundings::of_process());
  }

  HttpRequest make(const std::string& method, const std::string& name,
                   HttpHeaders headers) override {
    const Url url = place_.below(name);
    HttpRequest request;
    request.method = method;
    request.shown = url.shown();
    ToSign to_sign = without_body();
    to_sign.headers = std::move(headers);
    complete(request, std::move(to_sign), url.path);
    return request;
  }

  bool can_change() const override { return true; }

  std::optional<HttpRequest> make_change(const Change& change) override {
    HttpRequest request;
    request.method = change.method;
    request.body = change.body;
    request.most = kMostListBytes;
    ToSign to_sign = without_body();
    const Url url = change.name.empty() ? place_ : place_.below(change.name);
    request.shown = url.shown();
    to_sign.query = change.query;
    to_sign.headers = change.headers;
    if (!change.body_sha256.empty()) to_sign.payload_hash = change.body_sha256;
    complete(request, std::move(to_sign), change.name.empty() ? "" : url.path);
    return request;
  }

  /// The storage says so in a redirect, and where the signature names the wrong region.
  bool is_in_other_region(const HttpResponse& response) override {
    const auto region = response.header("x-amz-bucket-region");
    if ((response.status != 301 && response.status != 400) || !region || !is_region(*region))
      return false;
    const std::shared_ptr<const Bucket> now = bucket();
    if (now->s3.region != *region) move_to(now->s3.in_region(std::string(*region)));
    return true;
  }

  bool renew(const std::string&, bool expired) override {
    if (!chain_ || !expired) return false;
    chain_->expired();
    return true;
  }

  std::optional<HttpRequest> make_list(const std::string& prefix, const std::string& token,
                                       bool folders) override {
    HttpRequest request;
    request.shown = place_.shown();
    request.most = kMostListBytes;
    ToSign to_sign = without_body();
    to_sign.query = {{"list-type", "2"}, {"max-keys", "1000"}, {"prefix", prefix}};
    if (folders) to_sign.query.emplace_back("delimiter", "/");
    if (!token.empty()) to_sign.query.emplace_back("continuation-token", token);
    complete(request, std::move(to_sign), "");
    return request;
  }

 private:
  struct Bucket {
    S3Place s3;
    BucketPlace place;
  };

  void move_to(const S3Place& s3) {
    auto moved = std::make_shared<const Bucket>(Bucket{s3, bucket_place(s3, place_.host)});
    const std::scoped_lock lock(mutex_);
    bucket_ = std::move(moved);
  }

  std::shared_ptr<const Bucket> bucket() {
    const std::scoped_lock lock(mutex_);
    return bucket_;
  }

  static ToSign without_body() {
    ToSign to_sign;
    to_sign.payload_hash = kEmptyPayload;
    return to_sign;
  }

  /// Fills in URL and headers. `key`: the object's; empty: the request is about the bucket.
  void complete(HttpRequest& request, ToSign to_sign, const std::string& key) {
    const std::shared_ptr<const Bucket> at = bucket();
    to_sign.method = request.method;
    to_sign.host = at->place.host;
    to_sign.path = at->place.path;
    if (!key.empty() || to_sign.path.empty()) to_sign.path += "/" + key;
    if (requester_pays_) to_sign.headers.emplace_back("x-amz-request-payer", "requester");
    const std::string query = canonical_query(to_sign.query);
    request.url = at->place.scheme + "://" + at->place.host + percent_encoded(to_sign.path, true) +
                  (query.empty() ? "" : "?" + query);
    if (!chain_) {
      request.headers = std::move(to_sign.headers);
      if (!request.body.empty())
        request.headers.emplace_back("x-amz-content-sha256", to_sign.payload_hash);
      return;
    }
    request.headers = signed_headers(to_sign, chain_->get(), at->s3.region, "s3",
                                     std::chrono::system_clock::now());
  }

  const Url place_;
  const bool requester_pays_;
  std::mutex mutex_;  ///< guards the next
  std::shared_ptr<const Bucket> bucket_;
  std::optional<CredentialChain> chain_;
};

}  // namespace

std::unique_ptr<WebRequests> s3_requests(const Url& place, const StorageOptions& options) {
  return std::make_unique<S3Requests>(place, options);
}

namespace {

class HttpRequests final : public WebRequests {
 public:
  HttpRequests(const Url& place, const StorageOptions& options) : place_(place) {
    if (!options.url_command.empty()) command_.emplace(options.url_command);
  }

  HttpRequest make(const std::string& method, const std::string& name,
                   HttpHeaders headers) override {
    const Url url = place_.below(name);
    HttpRequest request;
    request.method = method;
    request.shown = url.shown();
    request.headers = std::move(headers);
    if (command_) {
      request.url = command_->url(name);
    } else {
      request.url = url.scheme + "://" + url.host + "/" + percent_encoded(url.path, true) +
                    (url.query.empty() ? "" : "?" + url.query);
    }
    return request;
  }

  bool renew(const std::string& name, bool) override {
    if (command_) command_->forget(name);
    return command_.has_value();
  }

  std::optional<HttpRequest> make_list(const std::string&, const std::string&, bool) override {
    return std::nullopt;
  }

  std::optional<HttpRequest> make_change(const Change&) override { return std::nullopt; }

 private:
  const Url place_;
  std::optional<UrlCommand> command_;
};

}  // namespace

std::unique_ptr<WebRequests> http_requests(const Url& place, const StorageOptions& options) {
  return std::make_unique<HttpRequests>(place, options);
}

HttpClient::Accept judged(std::shared_ptr<WebRequests> requests, std::string name,
                          std::function<Judgement(const HttpResponse&)> judge) {
  return [requests = std::move(requests), name = std::move(name), judge = std::move(judge),
          renewed = false](const HttpResponse& response, bool* repeat) mutable {
    const Judgement judgement = judge(response);
    *repeat = judgement.repeat;
    const bool refused = judgement.renew || response.status == 401 || response.status == 403;
    if (judgement.error && refused && !renewed) {
      renewed = true;
      *repeat = requests->renew(name, judgement.renew) || judgement.repeat;
    } else if (judgement.error && !renewed && requests->is_in_other_region(response)) {
      renewed = *repeat = true;
    }
    return judgement.error;
  };
}

}  // namespace packhorse
