#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "storage/http/client.h"
#include "storage/http/web_requests.h"
#include "storage/object_store.h"

namespace packhorse {

class UnderWay;

/// A change, or Error(kUnsupported) where nothing can be changed.
HttpRequest change_of(WebRequests& requests, const Change& change, const std::string& shown);

/// Stores one object, in one request or in parts, on the condition that there is none of its name.
/// Every body is sent with its SHA-256, which the storage compares.
class ObjectUpload {
 public:
  /// `owner` as for HttpClient::start(). `write` must outlive it.
  ObjectUpload(HttpClient& client, std::shared_ptr<WebRequests> requests, const void* owner,
               const Url& url, const ObjectWrite& write);

  /// False when there is an object of this name. Throws as ObjectStore::write() does; what was sent
  /// in parts is removed then.
  bool run();

 private:
  using Judge = std::function<Judgement(const HttpResponse&)>;
  HttpResponse send(const Change& change, const Judge& judge);
  Judgement judge(const HttpResponse& answer) const;
  /// The same, but 412 is an answer, too: there is an object of this name.
  Judgement judge_condition(const HttpResponse& answer) const;
  bool in_parts() const;
  bool put_whole();
  bool put_parts();
  void send_parts(const std::string& id);
  void start_part(const std::string& id, std::size_t part, Bytes body,
                  const std::shared_ptr<UnderWay>& under_way);
  void refuse_changed(const std::string& sum) const;
  bool complete(const std::string& id);
  void abort(const std::string& id) noexcept;

  HttpClient& client_;
  const std::shared_ptr<WebRequests> requests_;
  const void* const owner_;
  const std::string shown_;
  const ObjectWrite& write_;
  std::vector<std::string> tags_;  ///< of the parts, by their numbers
};

}  // namespace packhorse
