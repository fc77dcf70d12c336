#include "storage/http/answers.h"

#include "storage/http/s3_xml.h"
#include "support/support.h"

namespace packhorse {

namespace {

std::byte ten[10];

/// Bytes 10 to 19 of 100.
RangeRead ten_bytes(const std::string& tag = "") { return {"a", {10, 10}, 100, tag, ten}; }

HttpResponse answer(int status, HttpHeaders headers, std::string_view body = "") {
  const Bytes bytes = as_bytes(body);
  return {status, {bytes.begin(), bytes.end()}, std::move(headers)};
}

Error error_in(const Judgement& judgement) {
  REQUIRE(judgement.error);
  try {
    std::rethrow_exception(judgement.error);
  } catch (const Error& error) {
    return error;
  }
}

ErrorKind kind_in(const RangeRead& read, const HttpResponse& response) {
  return error_in(judge_range(read, response, "http://h/a")).kind();
}

std::string s3_error(const std::string& code, const std::string& message = "") {
  return "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>" + message +
         "</Message><StringToSign>secret</StringToSign></Error>";
}

}  // namespace

TEST_CASE("range answer: Content-Range is read exactly, or not at all") {
  CHECK(parse_content_range("bytes 0-9/100") == ContentRange{0, 9, 100});
  CHECK(parse_content_range("bytes 99-99/100") == ContentRange{99, 99, 100});
  for (const char* text :
       {"", "bytes", "bytes 0-9", "bytes 0-9/*", "bytes */100", "bytes 9-0/100", "bytes 0-100/100",
        "bytes 0-9/100 ", "bytes  0-9/100", "bytes -1-9/100", "bytes 0-9/99999999999999999999",
        "items 0-9/100", "0-9/100", "bytes 0x0-9/100", "bytes +0-9/100"}) {
    CAPTURE(text);
    CHECK(!parse_content_range(text));
  }
}

TEST_CASE("range answer: 206 and 200 with the exact range are taken") {
  for (const int status : {200, 206}) {
    CAPTURE(status);
    CHECK(!judge_range(ten_bytes(), answer(status, {{"content-range", "bytes 10-19/100"}}), "")
               .error);
  }
}

TEST_CASE("range answer: another range, size or unit is corrupt") {
  for (const char* value : {"bytes 0-9/100", "bytes 10-20/100", "bytes 10-19/101", "bytes 10-19/*",
                            "bytes 10-18/100", "nonsense"}) {
    CAPTURE(value);
    const HttpResponse response = answer(206, {{"content-range", value}});
    CHECK(kind_in(ten_bytes(), response) == ErrorKind::kCorrupt);
    CHECK(!judge_range(ten_bytes(), response, "").repeat);
  }
  CHECK(kind_in(ten_bytes(), answer(206, {})) == ErrorKind::kCorrupt);
  CHECK(kind_in(ten_bytes(), answer(204, {})) == ErrorKind::kCorrupt);
}

TEST_CASE("range answer: 200 without a range is taken for the whole object only") {
  CHECK(kind_in(ten_bytes(), answer(200, {})) == ErrorKind::kCorrupt);
  const RangeRead whole{"a", {0, 10}, 10, "", ten};
  CHECK(!judge_range(whole, answer(200, {}), "").error);
  CHECK(kind_in(whole, answer(206, {})) == ErrorKind::kCorrupt);
}

TEST_CASE("range answer: another tag, or none, is corrupt where one is asked for") {
  const HttpHeaders range = {{"content-range", "bytes 10-19/100"}};
  HttpHeaders same = range, other = range;
  same.emplace_back("etag", "\"a\"");
  other.emplace_back("etag", "\"b\"");
  CHECK(!judge_range(ten_bytes("\"a\""), answer(206, same), "").error);
  CHECK(!judge_range(ten_bytes(), answer(206, other), "").error);
  CHECK(kind_in(ten_bytes("\"a\""), answer(206, other)) == ErrorKind::kCorrupt);
  CHECK(kind_in(ten_bytes("\"a\""), answer(206, range)) == ErrorKind::kCorrupt);
}

TEST_CASE("range answer: statuses have kinds, and some may pass") {
  struct {
    int status;
    ErrorKind kind;
    bool repeat;
  } cases[] = {{301, ErrorKind::kIo, false},       {400, ErrorKind::kIo, false},
               {401, ErrorKind::kIo, false},       {403, ErrorKind::kIo, false},
               {404, ErrorKind::kNotFound, false}, {408, ErrorKind::kIo, true},
               {410, ErrorKind::kNotFound, false}, {412, ErrorKind::kCorrupt, false},
               {416, ErrorKind::kCorrupt, false},  {429, ErrorKind::kIo, true},
               {500, ErrorKind::kIo, true},        {501, ErrorKind::kIo, false},
               {502, ErrorKind::kIo, true},        {503, ErrorKind::kIo, true},
               {504, ErrorKind::kIo, true}};
  for (const auto& one : cases) {
    CAPTURE(one.status);
    const Judgement judgement = judge_range(ten_bytes(), answer(one.status, {}), "http://h/a");
    CHECK(error_in(judgement).kind() == one.kind);
    CHECK(error_in(judgement).path() == "http://h/a");
    CHECK(judgement.repeat == one.repeat);
    CHECK(!judgement.renew);
  }
}

TEST_CASE("range answer: S3's codes are said in words") {
  const auto judged = [](int status, const std::string& code) {
    return judge_answer(answer(status, {}, s3_error(code)), "s3://b/a");
  };
  CHECK(error_in(judged(404, "NoSuchKey")).kind() == ErrorKind::kNotFound);
  CHECK(error_in(judged(404, "NoSuchBucket")).what() ==
        std::string("there is no such bucket (404 NoSuchBucket)"));
  CHECK(error_in(judged(403, "RequestTimeTooSkewed")).advice() == "set the clock");
  CHECK(judged(400, "ExpiredToken").renew);
  CHECK(!judged(400, "ExpiredToken").repeat);
  CHECK(!judged(403, "AccessDenied").renew);
  CHECK(judged(400, "RequestTimeout").repeat);
  CHECK(judged(503, "SlowDown").repeat);
}

TEST_CASE("range answer: of a server's words, code and message are shown, printable and short") {
  const auto said = [](const std::string& body) {
    return std::string(error_in(judge_answer(answer(403, {}, body), "s3://b/a")).what());
  };
  CHECK(said(s3_error("Odd", "It is odd\x1b[31m.")) ==
        "access is denied (403 Odd: It is odd\\x1b[31m.)");
  CHECK(said(s3_error("Odd", std::string(5000, 'x'))).size() < 300);
  CHECK(said("<html>secret</html>") == "access is denied (403)");
  CHECK(said(std::string(200'000, '<')) == "access is denied (403)");
}

TEST_CASE("s3 fault: a body beyond 64 KiB is not looked at, and depth is no harm") {
  std::string deep;
  while (deep.size() < 60'000) deep += "<a>";
  CHECK(parse_s3_fault(as_bytes(deep)).code.empty());
  const std::string far = "<Error>" + std::string(70'000, ' ') + "<Code>X</Code></Error>";
  CHECK(parse_s3_fault(as_bytes(far)).code.empty());
}

TEST_CASE("range answer: size and tag come from HEAD, or from the first byte") {
  const HttpResponse head = answer(200, {{"content-length", "123"}, {"etag", "\"x\""}});
  CHECK(info_of_head(head).value().bytes == 123);
  CHECK(info_of_head(head).value().tag == "\"x\"");
  CHECK(!info_of_head(answer(200, {})));
  CHECK(!info_of_head(answer(200, {{"content-length", "12x"}})));
  CHECK(info_of_first_byte(answer(206, {{"content-range", "bytes 0-0/7"}})).value().bytes == 7);
  CHECK(info_of_first_byte(answer(416, {{"content-range", "bytes */0"}})).value().bytes == 0);
  CHECK(!info_of_first_byte(answer(206, {{"content-range", "bytes 0-1/7"}})));
  CHECK(!info_of_first_byte(answer(416, {{"content-range", "bytes */7"}})));
  CHECK(!info_of_first_byte(answer(200, {{"content-length", "7"}})));
}

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// Fri, 31 Dec 1999 23:59:00 GMT
constexpr std::chrono::system_clock::time_point kEveOf2000{seconds(946'684'740)};

TriesMade made(int tries, milliseconds since_first = {}) {
  TriesMade result;
  result.tries = tries;
  result.since_first = since_first;
  return result;
}

}  // namespace

TEST_CASE("Retry-After: seconds and dates") {
  CHECK(parse_retry_after("0", kEveOf2000) == seconds(0));
  CHECK(parse_retry_after("120", kEveOf2000) == seconds(120));
  CHECK(parse_retry_after("Fri, 31 Dec 1999 23:59:59 GMT", kEveOf2000) == seconds(59));
  CHECK(parse_retry_after("Fri, 31 Dec 1999 23:00:00 GMT", kEveOf2000) == seconds(0));
}

TEST_CASE("Retry-After: a day at most, whatever is said") {
  for (const char* text : {"86401", "999999999999", "99999999999999999999999999999",
                           "Fri, 31 Dec 9999 23:59:59 GMT"}) {
    CAPTURE(text);
    CHECK(parse_retry_after(text, kEveOf2000) == std::chrono::hours(24));
  }
}

TEST_CASE("Retry-After: what is neither is nothing") {
  for (const char* text : {"", "-1", "1.5", "soon", "2 weeks", "1e3", "Fri, 32 Foo 1999", " 1"}) {
    CAPTURE(text);
    CHECK(!parse_retry_after(text, kEveOf2000));
  }
  CHECK(!parse_retry_after(std::string(1000, '1'), kEveOf2000));
}

TEST_CASE("retry: pauses double, up to a bound, and have full jitter") {
  const StorageOptions options{.retries = 100, .retry_time = std::chrono::hours(1)};
  CHECK(pause_before_retry(made(1), options, 1) == milliseconds(100));
  CHECK(pause_before_retry(made(2), options, 1) == milliseconds(200));
  CHECK(pause_before_retry(made(4), options, 0.5) == milliseconds(400));
  CHECK(pause_before_retry(made(4), options, 0) == milliseconds(0));
  CHECK(pause_before_retry(made(60), options, 1) == seconds(20));
}

TEST_CASE("retry: ends by number and by time") {
  const StorageOptions options{.retries = 3, .retry_time = seconds(10)};
  CHECK(pause_before_retry(made(3), options, 0));
  CHECK(!pause_before_retry(made(4), options, 0));
  CHECK(!pause_before_retry(made(1, milliseconds(9950)), options, 1));
  CHECK(!pause_before_retry(made(1), {.retries = 0}, 0));
}

TEST_CASE("retry: what the server asks for is waited for, within the time") {
  const StorageOptions options{.retries = 3, .retry_time = seconds(10)};
  TriesMade asked = made(1);
  asked.retry_after = seconds(7);
  CHECK(pause_before_retry(asked, options, 1) == milliseconds(7100));
  asked.retry_after = seconds(11);
  CHECK(!pause_before_retry(asked, options, 0));
}

TEST_CASE("retry: a server that was never reached is tried three times") {
  TriesMade unreached = made(2);
  unreached.reached = false;
  CHECK(pause_before_retry(unreached, {}, 0));
  unreached.tries = 3;
  CHECK(!pause_before_retry(unreached, {}, 0));
}

}  // namespace packhorse
