#include "storage/http/answers.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <string>

#include "base/printable.h"
#include "packhorse/base/error.h"
#include "storage/http/s3_xml.h"

namespace packhorse {

namespace {

/// Takes a number off the begin of a text, and what must follow it.
bool take_number(std::string_view& text, std::uint64_t& number, std::string_view then) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end == text.data()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.starts_with(then)) return false;
  text.remove_prefix(then.size());
  return true;
}

std::optional<std::uint64_t> number_in(std::optional<std::string_view> value) {
  std::uint64_t number = 0;
  if (!value || !take_number(*value, number, "") || !value->empty()) return std::nullopt;
  return number;
}

std::exception_ptr error_of(ErrorKind kind, std::string_view what, const std::string& shown,
                            std::string_view advice) {
  return std::make_exception_ptr(Error(kind, std::string(what), shown, std::string(advice)));
}

struct StatusMeaning {
  ErrorKind kind;
  std::string_view what, advice;
};

/// What a status means where no S3 fault says more.
StatusMeaning meaning_of_status(int status) {
  switch (status) {
    case 401:
      return {ErrorKind::kIo, "the server wants to know who asks",
              "use a signed URL, or a server that needs no password"};
    case 403:
      return {ErrorKind::kIo, "access is denied",
              "check the permissions there; signed URLs and credentials may have expired"};
    case 404:
    case 410:
      return {ErrorKind::kNotFound, "there is no such object", "check the URL"};
    case 407:
      return {ErrorKind::kIo, "the proxy wants to know who asks",
              "check the environment's http_proxy and https_proxy"};
    case 412:
      return {ErrorKind::kCorrupt, "the object is not the one that it was at first",
              "open the dataset again"};
    case 416:
      return {ErrorKind::kCorrupt, "the object is shorter than it should be",
              "upload the dataset again"};
    case 429:
      return {ErrorKind::kIo, "there are too many requests", "try again later"};
    default:
      break;
  }
  if (status >= 300 && status <= 399)
    return {ErrorKind::kIo, "the object is elsewhere", "use the URL of the place itself"};
  if (status >= 500) return {ErrorKind::kIo, "the server has a fault", "try again later"};
  return {ErrorKind::kIo, "the server refuses the request", "check the URL"};
}

bool may_status_pass(int status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
         status == 504;
}

std::exception_ptr wrong_answer(const std::string& what, const std::string& shown) {
  return error_of(ErrorKind::kCorrupt, what, shown,
                  "the server, or a proxy before it, must answer ranges as they are asked for");
}

}  // namespace

std::optional<ContentRange> parse_content_range(std::string_view value) {
  ContentRange range;
  if (!value.starts_with("bytes ")) return std::nullopt;
  value.remove_prefix(6);
  const bool read = take_number(value, range.first, "-") && take_number(value, range.last, "/") &&
                    take_number(value, range.total, "") && value.empty();
  if (!read || range.first > range.last || range.last >= range.total) return std::nullopt;
  return range;
}

Judgement judge_answer(const HttpResponse& response, const std::string& shown) {
  const int status = response.status;
  if (status >= 200 && status <= 299) return {};
  const S3Fault fault = parse_s3_fault(response.body);
  const S3FaultMeaning* known = meaning_of_s3_fault(fault.code);
  const StatusMeaning general = meaning_of_status(status);
  std::string what = fmt::format("{} ({}", known ? known->what : general.what, status);
  if (!fault.code.empty()) what += " " + fault.code;
  // Of a fault that is known, our words say it all.
  if (!known && !fault.code.empty() && !fault.message.empty()) what += ": " + fault.message;
  what += ")";
  Judgement judgement;
  judgement.error = error_of(known ? known->kind : general.kind, what, shown,
                             known ? known->advice : general.advice);
  judgement.repeat =
      may_status_pass(status) || (known && known->then == S3FaultMeaning::Then::kRepeat);
  judgement.renew = known && known->then == S3FaultMeaning::Then::kRenew;
  return judgement;
}

Judgement judge_range(const RangeRead& read, const HttpResponse& response,
                      const std::string& shown) {
  const int status = response.status;
  if (status < 200 || status > 299) return judge_answer(response, shown);
  if (status != 200 && status != 206)
    return {wrong_answer(fmt::format("the server answers a range with status {}", status), shown)};
  const ContentRange asked{read.range.offset, read.range.end() - 1, read.of_bytes};
  const auto value = response.header("content-range");
  if (!value) {
    const bool whole = read.range.offset == 0 && read.range.length == read.of_bytes;
    if (status == 206) return {wrong_answer("the server does not say which range it sends", shown)};
    // The client has compared the body's length with that of the range.
    if (!whole) return {wrong_answer("the server sends the whole object for a range", shown)};
  } else if (parse_content_range(*value) != asked) {
    return {wrong_answer(
        fmt::format("the server sends '{}', where bytes {}-{} of {} were asked for",
                    printable_text(value->substr(0, 100)), asked.first, asked.last, asked.total),
        shown)};
  }
  if (read.tag.empty()) return {};
  if (response.header("etag") == std::string_view(read.tag)) return {};
  return {error_of(ErrorKind::kCorrupt, "the object is not the one that it was at first", shown,
                   "open the dataset again")};
}

std::optional<ObjectInfo> info_of_head(const HttpResponse& response) {
  const auto length = number_in(response.header("content-length"));
  if (response.status != 200 || !length) return std::nullopt;
  return ObjectInfo{*length, std::string(response.header("etag").value_or("")),
                    std::string(response.header(kSha256Header).value_or(""))};
}

std::optional<ObjectInfo> info_of_first_byte(const HttpResponse& response) {
  const std::string tag(response.header("etag").value_or(""));
  const std::string_view value = response.header("content-range").value_or("");
  if (response.status == 416 && value == "bytes */0") return ObjectInfo{0, tag};
  const auto range = parse_content_range(value);
  if ((response.status != 206 && response.status != 200) || !range) return std::nullopt;
  if (range->first != 0 || range->last != 0) return std::nullopt;
  return ObjectInfo{range->total, tag};
}

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{100}, kLongestPause{20'000};
constexpr milliseconds kLongestRetryAfter{24 * 3600 * 1000};
constexpr std::size_t kMostRetryAfterText = 64;
constexpr int kTriesOfUnreached = 3;

}  // namespace

std::optional<milliseconds> parse_retry_after(std::string_view value,
                                              std::chrono::system_clock::time_point now) {
  if (value.empty() || value.size() > kMostRetryAfterText) return std::nullopt;
  std::chrono::seconds wait{0};
  if (value.find_first_not_of("0123456789") == std::string_view::npos) {
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (code != std::errc()) return kLongestRetryAfter;
    wait = std::chrono::seconds(std::min<std::int64_t>(number, kLongestRetryAfter.count()));
  } else {
    // A date begins with its day's name, "Fri, 31 Dec 1999"; libcurl takes much else for one.
    if (value.find(',') == std::string_view::npos) return std::nullopt;
    const std::time_t date = curl_getdate(std::string(value).c_str(), nullptr);
    if (date < 0) return std::nullopt;
    constexpr std::time_t kDay = 24L * 3600;
    wait = std::chrono::seconds(
        std::clamp<std::time_t>(date - std::chrono::system_clock::to_time_t(now), 0, kDay));
  }
  return std::clamp(milliseconds(wait), milliseconds(0), kLongestRetryAfter);
}

std::optional<milliseconds> pause_before_retry(const TriesMade& made, const StorageOptions& options,
                                               double random) {
  if (made.tries > options.retries) return std::nullopt;
  if (!made.reached && made.tries >= kTriesOfUnreached) return std::nullopt;
  const int doublings = std::clamp(made.tries - 1, 0, 16);
  const milliseconds longest = std::min(kLongestPause, kFirstPause * (1 << doublings));
  const auto jitter = std::chrono::duration_cast<milliseconds>(longest * random);
  const milliseconds pause = made.retry_after.value_or(milliseconds(0)) + jitter;
  if (made.since_first + pause > options.retry_time) return std::nullopt;
  return pause;
}

}  // namespace packhorse
