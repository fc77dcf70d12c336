#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/http/answers.h"
#include "storage/http/client.h"
#include "storage/http/s3_xml.h"
#include "storage/http/web_requests.h"
#include "storage/object_store.h"

namespace packhorse {

/// A store whose objects are asked for over HTTP. Its end gives up what is under way.
class WebStore final : public ObjectStore {
 public:
  WebStore(Url place, std::shared_ptr<HttpClient> client, std::unique_ptr<WebRequests> requests);
  ~WebStore() override;
  WebStore(const WebStore&) = delete;
  WebStore& operator=(const WebStore&) = delete;

  const Url& place() const override { return source_->place; }
  ObjectInfo info(const std::string& name) override;
  std::vector<std::byte> read(const std::string& name, std::uint64_t most) override;
  void read_range(const RangeRead& read) override;
  void start(const RangeRead& read, std::function<void(std::exception_ptr)> done) override;
  std::vector<ListedObject> list(const std::string& prefix, std::size_t most) override;
  std::vector<std::string> folders(std::size_t most) override;
  bool can_write() const override { return source_->requests->can_change(); }
  bool write(const ObjectWrite& write) override;
  void end_uploads(const std::vector<std::string>& names) override;
  void remove(const std::string& name) override;
  StorageCounters counters() const override { return client_->counters(source_.get()); }

 private:
  /// What requests need, also those that end after the store, which may go in a `done` of its own.
  struct Source {
    Url place;
    std::unique_ptr<WebRequests> requests;
    std::string shown(const std::string& name) const { return place.below(name).shown(); }
  };
  using Judge = std::function<Judgement(const HttpResponse&)>;
  static HttpRequest request_of(const Source& source, const RangeRead& read);
  HttpClient::Accept accept_range(const RangeRead& read) const;
  HttpClient::Accept accept(const std::string& name, Judge judge) const;
  ObjectInfo info_by_first_byte(const std::string& name);
  /// What there is of this name, if there is anything.
  std::optional<ObjectInfo> is_there(const std::string& name);
  /// What all keys of the place begin with.
  std::string above() const;
  /// Hands out pages of the list of what begins with `begin`; `take` returns what has come so far.
  void list_pages(const std::string& begin, bool folders, std::size_t most,
                  const std::function<std::size_t(ListPage)>& take);

  const std::shared_ptr<const Source> source_;
  const std::shared_ptr<HttpClient> client_;
};

}  // namespace packhorse
