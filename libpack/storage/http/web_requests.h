#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/http/answers.h"
#include "storage/http/client.h"
#include "storage/object_store.h"

namespace packhorse {

/// A request that changes what is stored, or asks about such changes.
struct Change {
  std::string method;
  std::string name;  ///< of the object; empty: the request is about the whole bucket
  std::vector<std::pair<std::string, std::string>> query = {};  ///< decoded
  HttpHeaders headers = {};
  Bytes body = {};               ///< lives until the answer is there
  std::string body_sha256 = {};  ///< in hexadecimal digits; empty: of no bytes
};

/// How the objects of one place are asked for: what differs between kinds of storage that speak
/// HTTP. Thread-safe.
class WebRequests {
 public:
  virtual ~WebRequests() = default;

  /// A request for an object, ready to be sent. May wait for credentials. Throws Error(kUsage |
  /// kIo).
  virtual HttpRequest make(const std::string& method, const std::string& name,
                           HttpHeaders headers) = 0;
  /// After a refusal that may be due to what the request bore (`expired`: surely so): whether the
  /// next make() for this object will bear something new. Does not wait.
  virtual bool renew(const std::string& name, bool expired) = 0;
  /// A request for a page of the list of names that begin with `prefix`, all of them below the
  /// place, from `token` on ("": the first); with `folders`, the names behind a slash are joined.
  /// Nothing where there are no lists.
  virtual std::optional<HttpRequest> make_list(const std::string& prefix, const std::string& token,
                                               bool folders) = 0;
  /// Whether an answer says that the objects are in another region, where the next make() asks.
  virtual bool is_in_other_region(const HttpResponse&) { return false; }
  virtual bool can_change() const { return false; }
  /// A change, ready to be sent as make()'s are; nothing where nothing can be changed.
  virtual std::optional<HttpRequest> make_change(const Change& change) = 0;
};

/// Has `judge` look at answers to a request about `name`, and a refused request repeated once with
/// new credentials, or at the storage's other region.
HttpClient::Accept judged(std::shared_ptr<WebRequests> requests, std::string name,
                          std::function<Judgement(const HttpResponse&)> judge);

/// http and https: the place's URL with the name below its path, or what
/// StorageOptions::url_command prints for the name, of whatever scheme the place is.
std::unique_ptr<WebRequests> http_requests(const Url& place, const StorageOptions& options);

/// s3: signed, or anonymous.
std::unique_ptr<WebRequests> s3_requests(const Url& place, const StorageOptions& options);

}  // namespace packhorse
