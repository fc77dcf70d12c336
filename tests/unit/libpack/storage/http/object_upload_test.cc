#include <map>
#include <optional>

#include "base/hash.h"
#include "base/stop.h"
#include "storage/http/scripted_server.h"
#include "storage/object_store.h"
#include "support/support.h"

namespace packhorse {

using test::reply;
using test::ScriptedServer;
using test::ServerReply;
using test::ServerRequest;

namespace {

/// What S3 does with the requests of an upload, and answers that are not what they should be.
class Bucket {
 public:
  /// Gives an answer instead, or nothing; called before (`done` false) and after the request takes
  /// effect.
  using Fault = std::function<std::optional<ServerReply>(const ServerRequest&, bool done)>;

  explicit Bucket(Fault fault = {})
      : fault_(std::move(fault)), server_([this](const ServerRequest& request) {
          if (fault_)
            if (auto answer = fault_(request, false)) return *answer;
          ServerReply right = answer(request);
          if (fault_)
            if (auto answer = fault_(request, true)) return *answer;
          return right;
        }) {}

  std::shared_ptr<ObjectStore> store() const {
    StorageOptions options;
    options.retries = 2;
    options.endpoint = server_.url();
    options.region = "us-east-1";
    options.anonymous = true;
    return open_store(parse_url("s3://bucket/data"), options);
  }
  bool write(const std::string& content, const std::stop_token& stop = {}) const {
    const StopScope scope(stop);
    return store()->write({"a", as_bytes(content), sha256(as_bytes(content))});
  }

  std::map<std::string, std::string> objects, sums;
  std::map<std::string, std::map<int, std::string>> uploads;

 private:
  static constexpr const char* kPath = "/bucket/data/a";

  static std::string after(const std::string& text, const std::string& part) {
    const std::size_t at = text.find(part);
    if (at == std::string::npos) return "";
    const std::size_t begin = at + part.size();
    return text.substr(begin, text.find('&', begin) - begin);
  }

  ServerReply store_object(const ServerRequest& request, const std::string& content,
                           const std::string& sum) {
    if (request.headers.count("if-none-match") > 0 && objects.count(kPath) > 0)
      return reply("412 Precondition Failed", "<Error><Code>PreconditionFailed</Code></Error>");
    objects[kPath] = content;
    sums[kPath] = sum;
    return reply("200 OK", "<Done/>", "ETag: \"whole\"\r\n");
  }

  ServerReply answer(const ServerRequest& request) {
    const std::string id = after(request.target, "uploadId=");
    if (request.method == "HEAD") {
      if (objects.count(kPath) == 0) return reply("404 Not Found");
      const std::string& content = objects[kPath];
      return {"HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(content.size()) +
              "\r\nx-amz-meta-sha256: " + sums[kPath] + "\r\n\r\n"};
    }
    if (request.method == "GET") {
      // In pages of two.
      std::string text = "<ListMultipartUploadsResult>";
      const std::string behind = after(request.target, "upload-id-marker=");
      int listed = 0;
      for (auto one = uploads.upper_bound(behind); one != uploads.end(); ++one) {
        if (++listed > 2) {
          text +=
              "<IsTruncated>true</IsTruncated><NextKeyMarker>data/a</NextKeyMarker>"
              "<NextUploadIdMarker>" +
              std::prev(one)->first + "</NextUploadIdMarker>";
          break;
        }
        text += "<Upload><Key>data/a</Key><UploadId>" + one->first + "</UploadId></Upload>";
      }
      return reply("200 OK", text + "</ListMultipartUploadsResult>");
    }
    if (request.method == "DELETE")
      return reply(id.empty()              ? objects.erase(kPath) + 1 > 0 ? "204 No Content" : ""
                   : uploads.erase(id) > 0 ? "204 No Content"
                                           : "404 Not Found");
    if (request.method == "POST" && id.empty()) {
      const std::string made = "u" + std::to_string(request.number);
      uploads[made];
      upload_sums_[made] = request.headers.at("x-amz-meta-sha256");
      return reply("200 OK", "<InitiateMultipartUploadResult><UploadId>" + made +
                                 "</UploadId></InitiateMultipartUploadResult>");
    }
    if (id.empty())
      return store_object(request, request.body, request.headers.at("x-amz-meta-sha256"));
    if (uploads.count(id) == 0)
      return reply("404 Not Found", "<Error><Code>NoSuchUpload</Code></Error>");
    if (request.method == "PUT") {
      const int part = std::stoi(after(request.target, "partNumber="));
      uploads[id][part] = request.body;
      return reply("200 OK", "", "ETag: \"p" + std::to_string(part) + "\"\r\n");
    }
    std::string content;
    for (const auto& [number, part] : uploads[id]) content += part;
    ServerReply answer = store_object(request, content, upload_sums_[id]);
    if (objects[kPath] == content) uploads.erase(id);
    return answer;
  }

  std::map<std::string, std::string> upload_sums_;
  Fault fault_;
  ScriptedServer server_;
};

const std::string kSmall = "some bytes";
const std::string kLarge(std::size_t{20} << 20, 'x');  // three parts

bool completes(const ServerRequest& request) {
  return request.method == "POST" && request.target.find("uploadId=") != std::string::npos;
}

}  // namespace

TEST_CASE("object upload: small ones in a request, large ones in parts") {
  for (const std::string* content : {&kSmall, &kLarge}) {
    Bucket bucket;
    CHECK(bucket.write(*content));
    CHECK(bucket.objects.at("/bucket/data/a") == *content);
    CHECK(bucket.uploads.empty());
  }
}

TEST_CASE("object upload: what is there is never replaced") {
  for (const std::string* content : {&kSmall, &kLarge}) {
    Bucket bucket;
    bucket.objects["/bucket/data/a"] = "mine";
    CHECK(!bucket.write(*content));
    CHECK(bucket.objects.at("/bucket/data/a") == "mine");
    CHECK(bucket.uploads.empty());
  }
}

TEST_CASE("object upload: parts that a killed process has left are removed") {
  Bucket bucket;
  for (const char* old : {"one", "two", "three", "four", "five"}) bucket.uploads[old][1] = "rest";
  CHECK(bucket.write(kLarge));
  bucket.store()->end_uploads({"b", "aa"});
  CHECK(bucket.uploads.size() == 5);
  bucket.store()->end_uploads({"b", "a"});
  CHECK(bucket.uploads.empty());
}

TEST_CASE("object upload: parts that cannot be removed keep no others") {
  Bucket bucket([](const ServerRequest& request, bool) -> std::optional<ServerReply> {
    if (request.method != "DELETE" || request.target.find("three") == std::string::npos)
      return std::nullopt;
    return reply("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>");
  });
  for (const char* old : {"one", "two", "three", "four", "five"}) bucket.uploads[old][1] = "rest";
  bucket.store()->end_uploads({"a"});
  CHECK(bucket.uploads.size() == 1);
}

TEST_CASE("object upload: a part that cannot be sent ends it, and leaves nothing") {
  Bucket bucket([](const ServerRequest& request, bool) -> std::optional<ServerReply> {
    if (request.target.find("partNumber=2") == std::string::npos) return std::nullopt;
    return reply("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>");
  });
  CHECK(test::kind_of_error([&] { bucket.write(kLarge); }) == ErrorKind::kIo);
  CHECK(bucket.objects.empty());
  CHECK(bucket.uploads.empty());
}

TEST_CASE("object upload: a part without a tag is corrupt") {
  Bucket bucket([](const ServerRequest& request, bool) -> std::optional<ServerReply> {
    if (request.target.find("partNumber=3") == std::string::npos) return std::nullopt;
    return reply("200 OK");
  });
  CHECK(test::kind_of_error([&] { bucket.write(kLarge); }) == ErrorKind::kCorrupt);
  CHECK(bucket.objects.empty());
}

TEST_CASE("object upload: a fault that comes with 200 is one, and is tried again") {
  int faults = 0;
  Bucket bucket([&](const ServerRequest& request, bool) -> std::optional<ServerReply> {
    if (!completes(request) || faults++ > 0) return std::nullopt;
    return reply("200 OK", "<Error><Code>InternalError</Code></Error>");
  });
  CHECK(bucket.write(kLarge));
  CHECK(bucket.objects.at("/bucket/data/a") == kLarge);
}

TEST_CASE("object upload: where the last answer is lost, what is stored counts") {
  for (const std::string* content : {&kSmall, &kLarge}) {
    int faults = 0;
    Bucket bucket([&](const ServerRequest& request, bool done) -> std::optional<ServerReply> {
      const bool last =
          completes(request) || (request.method == "PUT" && request.target == "/bucket/data/a");
      if (!last || !done || faults++ > 0) return std::nullopt;
      return ServerReply{"", ServerReply::Then::kReset};
    });
    // A second try of the small one finds it there; of the large one, that its upload has ended.
    const bool is_new = bucket.write(*content);
    CHECK(is_new == (content == &kLarge));
    CHECK(bucket.objects.at("/bucket/data/a") == *content);
    CHECK(bucket.sums.at("/bucket/data/a") == sha256(as_bytes(*content)));
  }
}

TEST_CASE("object upload: what is stored must be what was sent") {
  int looks = 0;
  Bucket bucket([&](const ServerRequest& request, bool done) -> std::optional<ServerReply> {
    if (request.method != "HEAD" || !done || looks++ == 0) return std::nullopt;
    return ServerReply{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"};
  });
  CHECK(test::kind_of_error([&] { bucket.write(kSmall); }) == ErrorKind::kCorrupt);
}

TEST_CASE("object upload: a stop ends it, and leaves nothing") {
  std::stop_source stop;
  Bucket bucket([&](const ServerRequest& request, bool) -> std::optional<ServerReply> {
    if (request.target.find("partNumber=1") != std::string::npos) stop.request_stop();
    return std::nullopt;
  });
  // It may have all parts under way by then; what completes it is not sent after a stop.
  CHECK(test::kind_of_error([&] { bucket.write(kLarge, stop.get_token()); }) ==
        ErrorKind::kInterrupted);
  CHECK(bucket.objects.empty());
  CHECK(bucket.uploads.empty());
}

TEST_CASE("object upload: removing what is not there is no error") {
  Bucket bucket;
  CHECK_NOTHROW(bucket.store()->remove("a"));
  CHECK(bucket.write(kSmall));
  bucket.store()->remove("a");
  CHECK(bucket.objects.empty());
}

TEST_CASE("object upload: web servers cannot be written to") {
  const ScriptedServer server([](const ServerRequest&) { return reply("200 OK"); });
  const auto store = open_store(parse_url(server.url() + "/data"));
  CHECK(!store->can_write());
  CHECK(test::kind_of_error([&] {
          store->write({"a", as_bytes(kSmall), sha256(as_bytes(kSmall))});
        }) == ErrorKind::kUnsupported);
  CHECK(server.count() == 0);
}

}  // namespace packhorse
