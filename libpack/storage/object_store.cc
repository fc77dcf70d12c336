#include "storage/object_store.h"

#include <future>
#include <memory>

#include "packhorse/base/error.h"
#include "storage/http/client.h"
#include "storage/http/web_requests.h"
#include "storage/http/web_store.h"

namespace packhorse {

namespace {

constexpr int kMostRequests = 1024, kMostRetries = 100;
constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24);

void check_option(bool right, const char* what) {
  if (!right) throw Error(ErrorKind::kUsage, std::string("storage: ") + what);
}

[[noreturn]] void refuse_changes(const Url& url) {
  throw Error(ErrorKind::kUnsupported, "this storage can only be read", url.shown(),
              "use an s3 URL, or a local folder");
}

bool is_duration(std::chrono::milliseconds time) { return time.count() > 0 && time <= kLongest; }

}  // namespace

void StorageOptions::validate() const {
  check_option(most_requests >= 1 && most_requests <= kMostRequests,
               "the number of requests at once must be 1 to 1024");
  check_option(is_duration(stall) && is_duration(connect),
               "the times for stalls and connections must be 1 ms to 24 hours");
  check_option(retries >= 0 && retries <= kMostRetries, "the number of retries must be 0 to 100");
  check_option(retry_time.count() >= 0 && retry_time <= kLongest,
               "the time for retries must be 24 hours at most");
  check_option(url_command.empty() || !url_command.front().empty(),
               "the command for URLs has no name");
}

void ObjectStore::read_range(const RangeRead& read) {
  // Shared, as the store's thread may still be in set_value() when this one goes on.
  const auto ended = std::make_shared<std::promise<std::exception_ptr>>();
  std::future<std::exception_ptr> error = ended->get_future();
  start(read, [ended](std::exception_ptr failure) { ended->set_value(std::move(failure)); });
  if (const std::exception_ptr failure = error.get()) std::rethrow_exception(failure);
}

std::vector<std::string> ObjectStore::folders(std::size_t) {
  throw Error(ErrorKind::kUnsupported, "this storage cannot list what it holds", place().shown(),
              "name the objects, or use an s3 URL");
}

bool ObjectStore::write(const ObjectWrite& write) { refuse_changes(place().below(write.name)); }

void ObjectStore::end_uploads(const std::vector<std::string>&) {}

void ObjectStore::remove(const std::string& name) { refuse_changes(place().below(name)); }

std::shared_ptr<ObjectStore> open_store(const Url& place, const StorageOptions& options) {
  options.validate();
  const bool plain = place.scheme != "s3" || !options.url_command.empty();
  auto requests = plain ? http_requests(place, options) : s3_requests(place, options);
  return std::make_shared<WebStore>(place, shared_client(options), std::move(requests));
}

}  // namespace packhorse
