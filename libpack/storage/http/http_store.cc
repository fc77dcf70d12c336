#include <utility>

#include "storage/http/url_command.h"
#include "storage/http/web_requests.h"

namespace packhorse {

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

}  // namespace packhorse
