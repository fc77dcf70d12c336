#include "storage/http/object_upload.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/stop.h"
#include "packhorse/base/error.h"
#include "storage/http/s3_xml.h"
#include "storage/under_way.h"

namespace packhorse {

namespace {

constexpr std::size_t kPartsUnderWay = 8;

}  // namespace

HttpRequest change_of(WebRequests& requests, const Change& change, const std::string& shown) {
  if (std::optional<HttpRequest> request = requests.make_change(change)) return *std::move(request);
  throw Error(ErrorKind::kUnsupported, "web servers cannot be written to", shown,
              "use an s3 URL, or a local folder");
}

ObjectUpload::ObjectUpload(HttpClient& client, std::shared_ptr<WebRequests> requests,
                           const void* owner, const Url& url, const ObjectWrite& write)
    : client_(client),
      requests_(std::move(requests)),
      owner_(owner),
      shown_(url.shown()),
      write_(write) {}

bool ObjectUpload::run() {
  obey_stop();
  return in_parts() ? put_parts() : put_whole();
}

HttpResponse ObjectUpload::send(const Change& change, const Judge& judge) {
  return client_.perform([&] { return change_of(*requests_, change, shown_); },
                         judged(requests_, change.name, judge), owner_);
}

Judgement ObjectUpload::judge(const HttpResponse& answer) const {
  return judge_answer(answer, shown_);
}

Judgement ObjectUpload::judge_condition(const HttpResponse& answer) const {
  if (answer.status == 412) return {};
  Judgement judgement = judge_answer(answer, shown_);
  judgement.repeat = judgement.repeat || answer.status == 409;  // somebody else is at it
  return judgement;
}

bool ObjectUpload::put_whole() {
  refuse_changed(sha256(write_.content));
  const HttpResponse answer =
      send({.method = "PUT",
            .name = write_.name,
            .headers = {{"if-none-match", "*"}, {kSha256Header, write_.sha256}},
            .body = write_.content,
            .body_sha256 = write_.sha256},
           [this](const HttpResponse& response) { return judge_condition(response); });
  return answer.status != 412;
}

bool ObjectUpload::put_parts() {
  const auto plain = [this](const HttpResponse& response) { return judge(response); };
  const HttpResponse begun = send({.method = "POST",
                                   .name = write_.name,
                                   .query = {{"uploads", ""}},
                                   .headers = {{kSha256Header, write_.sha256}}},
                                  plain);
  const std::string id = parse_upload_id(begun.body, shown_);
  bool is_new = false;
  try {
    send_parts(id);
    is_new = complete(id);
  } catch (...) {
    abort(id);
    throw;
  }
  if (!is_new) abort(id);
  return is_new;
}

bool ObjectUpload::in_parts() const {
  return write_.content.size() > part_bytes(write_.content.size());
}

void ObjectUpload::start_part(const std::string& id, std::size_t part, Bytes body,
                              const std::shared_ptr<UnderWay>& under_way) {
  Change change;
  change.method = "PUT";
  change.name = write_.name;
  change.query = {{"partNumber", fmt::format("{}", part + 1)}, {"uploadId", id}};
  change.body = body;
  change.body_sha256 = sha256(change.body);
  client_.start([requests = requests_, shown = shown_,
                 change] { return change_of(*requests, change, shown); },
                judged(requests_, write_.name,
                       [shown = shown_](const HttpResponse& answer) {
                         Judgement judgement = judge_answer(answer, shown);
                         if (!judgement.error && !answer.header("etag"))
                           judgement.error = std::make_exception_ptr(Error(
                               ErrorKind::kCorrupt, "the storage does not say the tag of a part",
                               shown, "ask whoever runs the storage"));
                         return judgement;
                       }),
                [this, part, under_way](HttpOutcome outcome) {
                  if (!outcome.error) tags_[part] = outcome.response.header("etag").value_or("");
                  under_way->end(std::move(outcome.error));
                },
                owner_);
}

void ObjectUpload::send_parts(const std::string& id) {
  const std::uint64_t size = part_bytes(write_.content.size());
  const std::size_t parts = (write_.content.size() + size - 1) / size;
  tags_.assign(parts, "");
  const auto under_way = std::make_shared<UnderWay>();
  const std::stop_token stop = current_stop();
  Sha256 whole;
  for (std::size_t part = 0; part < parts; ++part) {
    if (stop.stop_requested() || !under_way->wait_for(kPartsUnderWay - 1)) break;
    under_way->begin();
    try {
      const Bytes body = write_.content.subspan(
          part * size, std::min<std::uint64_t>(size, write_.content.size() - part * size));
      whole.update(body);
      start_part(id, part, body, under_way);
    } catch (...) {
      under_way->end(std::current_exception());
    }
  }
  under_way->wait_for(0);
  obey_stop();
  under_way->finish();
  refuse_changed(whole.finish());
}

/// The sum goes with the object, so it must be that of what was sent.
void ObjectUpload::refuse_changed(const std::string& sum) const {
  if (sum == write_.sha256) return;
  throw Error(ErrorKind::kCorrupt, "the file has changed while it was sent", shown_,
              "check the disk that it comes from, and run the same command again");
}

bool ObjectUpload::complete(const std::string& id) {
  const std::string text = completion_text(tags_);
  const HttpResponse answer =
      send({.method = "POST",
            .name = write_.name,
            .query = {{"uploadId", id}},
            .headers = {{"if-none-match", "*"}, {"content-type", "application/xml"}},
            .body = as_bytes(text),
            .body_sha256 = sha256(as_bytes(text))},
           [this](const HttpResponse& response) {
             // The status is sent before the work is done, so a fault may come with 200.
             if (response.status == 200 && !parse_s3_fault(response.body).code.empty()) {
               HttpResponse failed = response;
               failed.status = 500;
               return judge_answer(failed, shown_);
             }
             return judge_condition(response);
           });
  return answer.status != 412;
}

void ObjectUpload::abort(const std::string& id) noexcept {
  try {
    const StopGrace grace;
    send({.method = "DELETE", .name = write_.name, .query = {{"uploadId", id}}},
         [this](const HttpResponse& response) {
           return response.status == 404 ? Judgement{} : judge(response);
         });
  } catch (...) {  // NOLINT(bugprone-empty-catch): end_uploads() tries again
  }
}

}  // namespace packhorse
