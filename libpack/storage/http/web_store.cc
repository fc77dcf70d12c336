#include "storage/http/web_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/hash.h"
#include "base/stop.h"
#include "dataset/dataset_directory.h"
#include "packhorse/base/error.h"
#include "storage/http/object_upload.h"
#include "storage/http/s3_xml.h"

namespace packhorse {

namespace {

/// Pages of a list without a name on them, on the whole, before it counts as one without end.
constexpr std::size_t kEmptyPages = 1000;
/// Pages of begun uploads that are looked at, of 1,000 each.
constexpr std::size_t kMostUploadPages = 1000;

void check_read(const RangeRead& read) {
  const bool fits = read.range.length > 0 && read.range.length == read.into.size() &&
                    read.range.length <= read.of_bytes &&
                    read.range.offset <= read.of_bytes - read.range.length;
  if (!fits) {
    throw Error(ErrorKind::kUsage,
                fmt::format("no bytes, or bytes beyond the end, were asked for: {} from {} of {}",
                            read.range.length, read.range.offset, read.of_bytes),
                read.name);
  }
}

HttpHeaders headers_for(const RangeRead& read) {
  HttpHeaders headers = {
      {"range", fmt::format("bytes={}-{}", read.range.offset, read.range.end() - 1)}};
  // A weak tag ("W/...") matches nothing (RFC 9110, 13.1.1): it is compared with the answer's only.
  if (read.tag.starts_with('"')) headers.emplace_back("if-match", read.tag);
  return headers;
}

/// Statuses by which servers refuse HEAD and may yet answer GET: signatures are for one method.
bool may_refuse_head(int status) {
  return status == 400 || status == 401 || status == 403 || status == 405 || status == 501;
}

}  // namespace

WebStore::WebStore(Url place, std::shared_ptr<HttpClient> client,
                   std::unique_ptr<WebRequests> requests)
    : source_(std::make_shared<const Source>(Source{std::move(place), std::move(requests)})),
      client_(std::move(client)) {}

WebStore::~WebStore() { client_->give_up(source_.get()); }

HttpClient::Accept WebStore::accept(const std::string& name, Judge judge) const {
  return judged({source_, source_->requests.get()}, name, std::move(judge));
}

ObjectInfo WebStore::info(const std::string& name) {
  bool use_get = false;
  const std::string url = source_->shown(name);
  const HttpResponse response =
      client_->perform([&] { return source_->requests->make("HEAD", name, {}); },
                       accept(name,
                              [&](const HttpResponse& answer) {
                                use_get = may_refuse_head(answer.status) ||
                                          (answer.status == 200 && !info_of_head(answer));
                                return use_get ? Judgement{} : judge_answer(answer, url);
                              }),
                       source_.get());
  if (use_get) return info_by_first_byte(name);
  const std::optional<ObjectInfo> info = info_of_head(response);
  if (!info) {
    throw Error(ErrorKind::kCorrupt,
                fmt::format("the server answers HEAD with {}", response.status), url,
                "ask whoever runs the server, or use another one");
  }
  return *info;
}

ObjectInfo WebStore::info_by_first_byte(const std::string& name) {
  const std::string url = source_->shown(name);
  std::byte first{};
  // An empty object has no first byte: its 416 is an answer, too.
  const HttpResponse response = client_->perform(
      [&] {
        HttpRequest request = source_->requests->make("GET", name, {{"range", "bytes=0-0"}});
        request.into = {&first, 1};
        request.collect = false;
        return request;
      },
      accept(name,
             [&](const HttpResponse& answer) {
               if (info_of_first_byte(answer)) return Judgement{};
               RangeRead read{name, {0, 1}, ~std::uint64_t{0}, {}, {&first, 1}};
               return judge_range(read, answer, url);
             }),
      source_.get());
  return info_of_first_byte(response).value();
}

std::vector<std::byte> WebStore::read(const std::string& name, std::uint64_t most) {
  const std::string url = source_->shown(name);
  return client_
      ->perform(
          [&] {
            HttpRequest request = source_->requests->make("GET", name, {});
            request.most = most;
            return request;
          },
          accept(name, [&](const HttpResponse& answer) { return judge_answer(answer, url); }),
          source_.get())
      .body;
}

HttpRequest WebStore::request_of(const Source& source, const RangeRead& read) {
  HttpRequest request = source.requests->make("GET", read.name, headers_for(read));
  request.into = read.into;
  request.collect = false;
  return request;
}

HttpClient::Accept WebStore::accept_range(const RangeRead& read) const {
  return accept(read.name, [read, url = source_->shown(read.name)](const HttpResponse& answer) {
    return judge_range(read, answer, url);
  });
}

void WebStore::read_range(const RangeRead& read) {
  check_read(read);
  client_->perform([&] { return request_of(*source_, read); }, accept_range(read), source_.get());
}

void WebStore::start(const RangeRead& read, std::function<void(std::exception_ptr)> done) {
  check_read(read);
  client_->start([source = source_, read] { return request_of(*source, read); }, accept_range(read),
                 [done = std::move(done)](HttpOutcome outcome) { done(std::move(outcome.error)); },
                 source_.get());
}

std::optional<ObjectInfo> WebStore::is_there(const std::string& name) try {
  return info(name);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kNotFound) throw;
  return std::nullopt;
}

bool WebStore::write(const ObjectWrite& write) {
  const Url url = source_->place.below(write.name);
  if (!can_write()) return ObjectStore::write(write);  // throws
  ObjectUpload upload(*client_, {source_, source_->requests.get()}, source_.get(), url, write);
  const auto is_stored = [&] {
    const std::optional<ObjectInfo> info = is_there(write.name);
    return info && info->bytes == write.content.size() && info->sha256 == write.sha256;
  };
  // Not every storage keeps the condition, and what will be refused need not be sent.
  if (is_there(write.name)) return false;
  try {
    if (!upload.run()) return false;
  } catch (const Error& error) {
    // The answer to what completed it may be lost, and the storage then refuses to do it again. Or
    // another writer has stored the object, and has ended all other uploads of it.
    if (error.kind() == ErrorKind::kInterrupted || !is_there(write.name)) throw;
    if (!is_stored()) return false;
  }
  if (is_stored()) return true;
  throw Error(ErrorKind::kCorrupt, "what was stored is not what was sent", url.shown(),
              "remove it there, and try again; if it stays so, ask whoever runs the storage");
}

void WebStore::end_uploads(const std::vector<std::string>& names) try {
  if (!can_write()) return;
  const Url& place = source_->place;
  const auto send = [&](const Change& change) {
    return client_->perform(
        [&] { return change_of(*source_->requests, change, place.shown()); },
        accept(change.name,
               [&](const HttpResponse& answer) {
                 return answer.status == 404 ? Judgement{} : judge_answer(answer, place.shown());
               }),
        source_.get());
  };
  const std::set<std::string> ours(names.begin(), names.end());
  std::vector<BegunUpload> begun;
  BegunUploads page;
  for (std::size_t pages = 0; pages < kMostUploadPages; ++pages) {
    std::vector<std::pair<std::string, std::string>> query = {{"uploads", ""}, {"prefix", above()}};
    if (pages > 0) {
      query.push_back({"key-marker", page.next_key});
      query.push_back({"upload-id-marker", page.next_id});
    }
    page = parse_uploads(send({.method = "GET", .name = {}, .query = query}).body);
    for (BegunUpload& upload : page.uploads) {
      if (upload.key.starts_with(above()) && ours.contains(upload.key.substr(above().size())))
        begun.push_back(std::move(upload));
    }
    if (page.next_key.empty()) break;
  }
  for (const auto& [key, id] : begun) {
    try {
      send({.method = "DELETE", .name = key.substr(above().size()), .query = {{"uploadId", id}}});
    } catch (const Error& error) {  // the others may yet go
      if (error.kind() == ErrorKind::kInterrupted) throw;
    }
  }
} catch (const Error& error) {  // who may write may yet not be allowed to look
  if (error.kind() == ErrorKind::kInterrupted) throw;
}

void WebStore::remove(const std::string& name) {
  const std::string url = source_->shown(name);
  client_->perform(
      [&] { return change_of(*source_->requests, {.method = "DELETE", .name = name}, url); },
      accept(name,
             [&](const HttpResponse& answer) {
               return answer.status == 404 ? Judgement{} : judge_answer(answer, url);
             }),
      source_.get());
}

void WebStore::list_pages(const std::string& begin, bool folders, std::size_t most,
                          const std::function<std::size_t(ListPage)>& take) {
  const Url& place = source_->place;
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::kCorrupt, what, place.shown(), "check the place, and what lies there");
  };
  std::string token;
  std::unordered_set<std::uint64_t> seen;  // tokens and first names, hashed
  // Some storages send pages without names, such as of objects that were removed.
  std::size_t pages = 0, come = 0;
  for (; pages == 0 || !token.empty(); ++pages) {
    if (pages > kEmptyPages + come)
      refuse(fmt::format("the storage's list of objects does not end: {} pages with {} names",
                         pages, come));
    const HttpResponse response = client_->perform(
        [&] {
          std::optional<HttpRequest> request = source_->requests->make_list(begin, token, folders);
          if (request) return *std::move(request);
          throw Error(ErrorKind::kUnsupported, "web servers cannot list what they hold",
                      place.shown(), "name the objects, or use an s3 URL");
        },
        accept("", [&](const HttpResponse& answer) { return judge_answer(answer, place.shown()); }),
        source_.get());
    ListPage page = parse_list_page(response.body, begin, place.shown());
    const bool new_token = page.next.empty() || seen.insert(xxh3(as_bytes(page.next))).second;
    const bool new_names =
        page.objects.empty() || seen.insert(xxh3(as_bytes("/" + page.objects.front().name))).second;
    if (!new_token || !new_names) refuse("the storage's list of objects turns in a circle");
    token = page.next;
    come = take(std::move(page));
    if (come > most) refuse(fmt::format("there are more than {} objects", most));
  }
}

std::string WebStore::above() const {
  return source_->place.path.empty() ? "" : source_->place.path + "/";
}

std::vector<ListedObject> WebStore::list(const std::string& prefix, std::size_t most) {
  std::vector<ListedObject> objects;
  list_pages(above() + prefix, false, most, [&](ListPage page) {
    for (ListedObject& object : page.objects) {
      object.name.erase(0, above().size());
      objects.push_back(std::move(object));
    }
    return objects.size();
  });
  std::ranges::sort(objects, [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto same = [](const auto& a, const auto& b) { return a.name == b.name; };
  if (std::ranges::adjacent_find(objects, same) != objects.end())
    throw Error(ErrorKind::kCorrupt, "the storage lists an object twice", source_->place.shown(),
                "check the place, and what lies there");
  return objects;
}

std::vector<std::string> WebStore::folders(std::size_t most) {
  std::set<std::string> found;
  list_pages(above(), true, most, [&](ListPage page) {
    for (const std::string& folder : page.folders) {
      std::string name = folder.substr(above().size(), folder.size() - above().size() - 1);
      if (is_inner_name(name)) found.insert(std::move(name));
    }
    return found.size();
  });
  return {found.begin(), found.end()};
}

}  // namespace packhorse
