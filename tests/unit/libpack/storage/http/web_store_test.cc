#include <sys/stat.h>

#include <array>
#include <atomic>
#include <fstream>
#include <future>
#include <thread>

#include "base/stop.h"
#include "storage/dataset/object_copy.h"
#include "storage/http/scripted_server.h"
#include "storage/http/url_command.h"
#include "storage/object_store.h"
#include "support/support.h"

namespace packhorse {

using test::reply;
using test::ScriptedServer;
using test::serve;
using test::ServerReply;
using test::ServerRequest;
using Then = ServerReply::Then;

namespace {

const std::string kContent = "0123456789abcdefghij";

StorageOptions few_retries() {
  StorageOptions options;
  options.retries = 2;
  return options;
}

std::shared_ptr<ObjectStore> store_at(const ScriptedServer& server,
                                      const std::string& rest = "/data") {
  return open_store(parse_url(server.url() + rest), few_retries());
}

/// Bytes 5 to 9 of kContent.
std::string read_five(ObjectStore& store, const std::string& name = "a",
                      const std::string& tag = "") {
  std::array<std::byte, 5> into{};
  store.read_range({name, {5, 5}, kContent.size(), tag, into});
  return std::string(as_text(into));
}

ErrorKind kind_of_five(ScriptedServer::Script script, const std::string& tag = "") {
  ScriptedServer server(std::move(script));
  const auto store = store_at(server);
  return test::kind_of_error([&] { read_five(*store, "a", tag); });
}

/// A script of one answer.
ScriptedServer::Script always(const ServerReply& answer) {
  return [answer](const ServerRequest&) { return answer; };
}

/// Requests are signed with these.
struct KeysInEnvironment {
  KeysInEnvironment() {
    ::setenv("AWS_ACCESS_KEY_ID", "AKID", 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  }
  ~KeysInEnvironment() {
    ::unsetenv("AWS_ACCESS_KEY_ID");
    ::unsetenv("AWS_SECRET_ACCESS_KEY");
  }
  KeysInEnvironment(const KeysInEnvironment&) = delete;
  KeysInEnvironment& operator=(const KeysInEnvironment&) = delete;
};

StorageOptions anonymous_at(const ScriptedServer& server) {
  StorageOptions options = few_retries();
  options.endpoint = server.url();
  options.region = "us-east-1";
  options.anonymous = true;
  return options;
}

std::string object_xml(const std::string& key) {
  return "<Contents><Key>" + key + "</Key><Size>7</Size></Contents>";
}

ServerReply list_reply(const std::string& inside) {
  return reply("200 OK", "<ListBucketResult>" + inside + "</ListBucketResult>");
}

/// An executable script.
std::vector<std::string> script_file(const std::filesystem::path& path, const std::string& text) {
  test::put(path, "#!/bin/sh\n" + text + "\n");
  ::chmod(path.c_str(), 0700);
  return {path};
}

}  // namespace

TEST_CASE("web store: a range, with the place's query, and names encoded") {
  ScriptedServer server([](const ServerRequest& request) { return serve(request, kContent); });
  const auto store = store_at(server, "/the%20data/?key=v%2F");
  CHECK(read_five(*store, "x/a b+.tar") == "56789");
  const ServerRequest seen = server.requests().at(0);
  CHECK(seen.target == "/the%20data/x/a%20b%2B.tar?key=v%2F");
  CHECK(seen.headers.at("range") == "bytes=5-9");
  CHECK(seen.headers.count("if-match") == 0);
  CHECK(store->counters().requests == 1);
  CHECK(store->counters().bytes == 5);
}

TEST_CASE("web store: the first, the last and all bytes") {
  ScriptedServer server([](const ServerRequest& request) { return serve(request, kContent); });
  const auto store = store_at(server);
  for (const ByteRange range : {ByteRange{0, 1}, ByteRange{19, 1}, ByteRange{0, 20}}) {
    std::vector<std::byte> into(range.length);
    store->read_range({"a", range, kContent.size(), "\"t1\"", into});
    CHECK(as_text(into) == kContent.substr(range.offset, range.length));
  }
  CHECK(server.requests().at(0).headers.at("if-match") == "\"t1\"");
}

TEST_CASE("web store: no bytes, or bytes beyond the end, are not asked for") {
  ScriptedServer server([](const ServerRequest& request) { return serve(request, kContent); });
  const auto store = store_at(server);
  std::array<std::byte, 5> into{};
  const auto kind = [&](ByteRange range, std::size_t bytes) {
    return test::kind_of_error([&] {
      store->read_range({"a", range, kContent.size(), "", std::span(into).first(bytes)});
    });
  };
  CHECK(kind({0, 0}, 0) == ErrorKind::kUsage);
  CHECK(kind({16, 5}, 5) == ErrorKind::kUsage);
  CHECK(kind({0, 5}, 4) == ErrorKind::kUsage);
  CHECK(kind({~std::uint64_t{0} - 1, 5}, 5) == ErrorKind::kUsage);
  CHECK(server.count() == 0);
}

TEST_CASE("web store: another range, size or length than asked for is corrupt") {
  const auto range = [](const std::string& value, const std::string& body) {
    return always(reply("206 Partial Content", body, "Content-Range: bytes " + value + "\r\n"));
  };
  CHECK(kind_of_five(range("4-8/20", "45678")) == ErrorKind::kCorrupt);
  CHECK(kind_of_five(range("5-9/21", "56789")) == ErrorKind::kCorrupt);
  CHECK(kind_of_five(range("5-9/20", "5678")) == ErrorKind::kCorrupt);
  CHECK(kind_of_five(range("5-9/20", "56789a")) == ErrorKind::kCorrupt);
  CHECK(kind_of_five(range("5-8/20", "5678")) == ErrorKind::kCorrupt);
}

TEST_CASE("web store: the whole object for a range is refused before it is read") {
  CHECK(kind_of_five(always(reply("200 OK", kContent))) == ErrorKind::kCorrupt);
  ScriptedServer server(
      always({"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n", Then::kStall}));
  const auto store = store_at(server);
  try {
    read_five(*store);
    FAIL("no Error was thrown");
  } catch (const Error& error) {
    CHECK(error.what() == std::string("the server sends the whole object for a range"));
    CHECK(error.path() == server.url() + "/data/a");
  }
}

TEST_CASE("web store: 200 is taken with the exact range, and for the whole object") {
  ScriptedServer server([](const ServerRequest& request) {
    if (request.number == 0) return reply("200 OK", "56789", "Content-Range: bytes 5-9/20\r\n");
    return reply("200 OK", kContent);
  });
  const auto store = store_at(server);
  CHECK(read_five(*store) == "56789");
  std::vector<std::byte> into(20);
  store->read_range({"a", {0, 20}, 20, "", into});
  CHECK(as_text(into) == kContent);
}

TEST_CASE("web store: an object with another tag is corrupt") {
  const auto changed = [](const ServerRequest& request) {
    return serve(request, kContent, "\"t2\"");
  };
  CHECK(kind_of_five(changed, "\"t1\"") == ErrorKind::kCorrupt);
  CHECK(kind_of_five(always(reply("412 Precondition Failed")), "\"t1\"") == ErrorKind::kCorrupt);
}

TEST_CASE("web store: refusals have kinds, and are not repeated") {
  CHECK(kind_of_five(always(reply("404 Not Found"))) == ErrorKind::kNotFound);
  CHECK(kind_of_five(always(reply("416 Range", "", "Content-Range: bytes */3\r\n"))) ==
        ErrorKind::kCorrupt);
  ScriptedServer server(always(reply("403 Forbidden")));
  const auto store = store_at(server);
  CHECK(test::kind_of_error([&] { read_five(*store); }) == ErrorKind::kIo);
  CHECK(server.count() == 1);
}

TEST_CASE("web store: 503, a cut body, a reset and a stall are repeated") {
  ScriptedServer server([](const ServerRequest& request) -> ServerReply {
    ServerReply right = serve(request, kContent);
    const std::string cut = right.bytes.substr(0, right.bytes.size() - 1);
    switch (request.number) {
      case 0:
        return reply("503 Slow Down", "<Error><Code>SlowDown</Code></Error>");
      case 1:
        return {cut, Then::kClose};
      case 2:
        return right;
      case 3:
        return {cut, Then::kReset};
      case 4:
        return {cut, Then::kStall};
      default:
        return right;
    }
  });
  // A server that is only slow, on a busy machine, seems to stall; the retries are for that.
  StorageOptions impatient;
  impatient.retries = 50;
  impatient.stall = std::chrono::milliseconds(300);
  const auto store = open_store(parse_url(server.url() + "/data"), impatient);
  CHECK(read_five(*store) == "56789");
  CHECK(read_five(*store) == "56789");
}

TEST_CASE("web store: size and tag by HEAD, or by the first byte") {
  ScriptedServer server([](const ServerRequest& request) {
    if (request.method != "HEAD") return serve(request, kContent);
    if (request.target == "/data/plain") return serve(request, kContent);
    return reply(request.target == "/data/none" ? "404 Not Found" : "403 Forbidden");
  });
  const auto store = store_at(server);
  for (const char* name : {"plain", "signed"}) {
    const ObjectInfo info = store->info(name);
    CHECK(info.bytes == kContent.size());
    CHECK(info.tag == "\"t1\"");
  }
  CHECK(server.count() == 3);
  CHECK(test::kind_of_error([&] { store->info("none"); }) == ErrorKind::kNotFound);
}

TEST_CASE("web store: an empty object where HEAD is refused") {
  ScriptedServer server([](const ServerRequest& request) {
    return request.method == "HEAD" ? reply("405 No")
                                    : reply("416 Range", "", "Content-Range: bytes */0\r\n");
  });
  CHECK(store_at(server)->info("a").bytes == 0);
}

TEST_CASE("web store: whole objects, up to a size") {
  ScriptedServer server([](const ServerRequest& request) { return serve(request, kContent); });
  const auto store = store_at(server);
  CHECK(as_text(store->read("a", 20)) == kContent);
  CHECK(test::kind_of_error([&] { store->read("a", 19); }) == ErrorKind::kCorrupt);
  CHECK(test::kind_of_error([&] { store->list("", 10); }) == ErrorKind::kUnsupported);
}

TEST_CASE("web store: its end gives up what is under way") {
  ScriptedServer server(always({"", Then::kStall}));
  StorageOptions options = few_retries();
  options.stall = std::chrono::minutes(10);
  std::array<std::byte, 5> into{};
  bool ended = false;
  {
    const auto store = open_store(parse_url(server.url()), options);
    store->start({"a", {0, 5}, 20, "", into},
                 [&](const std::exception_ptr& error) { ended = error != nullptr; });
  }
  CHECK(ended);
}

TEST_CASE("web store: a copy that is stopped waits for no answer, and later requests are as ever") {
  for (const std::string method : {"HEAD", "GET"}) {
    std::atomic<bool> stalls{true};
    std::promise<void> asked;
    ScriptedServer server([&](const ServerRequest& request) {
      if (request.method != method || !stalls) return serve(request, kContent);
      asked.set_value();
      return ServerReply{"", Then::kStall};
    });
    StorageOptions options = few_retries();
    options.stall = std::chrono::minutes(10);
    const auto store = open_store(parse_url(server.url()), options);
    std::vector<std::byte> into(kContent.size());
    std::stop_source stop;
    auto copy = std::async(std::launch::async, [&] {
      const StopScope scope(stop.get_token());
      return test::kind_of_error([&] { copy_object(*store, "a", into, nullptr, nullptr); });
    });
    asked.get_future().wait();
    stop.request_stop();
    CHECK(copy.get() == ErrorKind::kInterrupted);
    stalls = false;
    copy_object(*store, "a", into, nullptr, nullptr);
    CHECK(as_text(into) == kContent);
  }
}

TEST_CASE("web store: may go with the last request that holds it, in a thread of its client") {
  ScriptedServer server([](const ServerRequest& request) { return serve(request, kContent); });
  std::array<std::byte, 5> into{};
  std::weak_ptr<ObjectStore> gone;
  std::promise<void> called;
  {
    auto store = store_at(server);
    gone = store;
    ObjectStore& there = *store;
    there.start({"a", {0, 5}, kContent.size(), "", into},
                [&called, store = std::move(store)](const std::exception_ptr& error) {
                  CHECK(!error);
                  called.set_value();
                });
  }
  called.get_future().wait();
  // Whatever waits for it now ends only when the thread has gone on.
  CHECK(read_five(*store_at(server)) == "56789");
  while (!gone.expired()) std::this_thread::yield();
}

TEST_CASE("web store: URLs by a command, once for each name, and anew after a refusal") {
  const test::TemporaryDirectory directory;
  ScriptedServer server([](const ServerRequest& request) {
    return request.target == "/signed/1" ? reply("403 Expired") : serve(request, kContent);
  });
  StorageOptions options = few_retries();
  const std::string count = directory / "count";
  options.url_command =
      script_file(directory / "sign", "echo \"$2\" >> " + count + "; echo " + server.url() +
                                          "/signed/$(wc -l < " + count + ")");
  options.url_command.emplace_back("--for");
  const auto store = open_store(parse_url("s3://bucket/place"), options);
  CHECK(read_five(*store, "a;b") == "56789");
  CHECK(read_five(*store, "a;b") == "56789");
  CHECK(server.count() == 3);
  std::ifstream lines(count);
  std::string line;
  REQUIRE(std::getline(lines, line));
  CHECK(line == "a;b");
}

TEST_CASE("url command: one that fails, prints something else, too much, or never ends") {
  const test::TemporaryDirectory directory;
  const auto kind = [&](const std::string& text, std::chrono::milliseconds most) {
    UrlCommand command(script_file(directory / "sign", text), most);
    return test::kind_of_error([&] { command.url("a"); });
  };
  const std::chrono::minutes long_enough(10);
  CHECK(kind("echo http://h/a; exit 3", long_enough) == ErrorKind::kIo);
  CHECK(kind("sleep 1000", std::chrono::milliseconds(300)) == ErrorKind::kIo);
  CHECK(kind("echo http://h/a http://h/b", long_enough) == ErrorKind::kCorrupt);
  CHECK(kind("echo ftp://h/a", long_enough) == ErrorKind::kCorrupt);
  CHECK(kind(":", long_enough) == ErrorKind::kCorrupt);
  CHECK(kind("head -c 20000 /dev/zero", long_enough) == ErrorKind::kCorrupt);
  CHECK(test::kind_of_error([] { UrlCommand({"/nowhere/at-all"}).url("a"); }) == ErrorKind::kIo);
}

TEST_CASE("s3 store: a range of an object of a bucket, without a signature") {
  ScriptedServer server([](const ServerRequest& request) { return serve(request, kContent); });
  const auto store = open_store(parse_url("s3://bucket/packed/train"), anonymous_at(server));
  CHECK(read_five(*store, "a=b/c.tar") == "56789");
  const ServerRequest seen = server.requests().at(0);
  CHECK(seen.target == "/bucket/packed/train/a%3Db/c.tar");
  CHECK(seen.headers.count("authorization") == 0);
}

TEST_CASE("s3 store: lists of several pages, sorted, by names below the place") {
  ScriptedServer server([](const ServerRequest& request) {
    const std::string next =
        "<IsTruncated>true</IsTruncated><NextContinuationToken>t/1"
        "</NextContinuationToken>";
    return request.number == 0 ? list_reply(object_xml("p/x/b") + object_xml("p/x/") + next)
                               : list_reply(object_xml("p/x/a") + object_xml("p/x/../c"));
  });
  const auto store = open_store(parse_url("s3://bucket/p"), anonymous_at(server));
  const std::vector<ListedObject> objects = store->list("x/", 10);
  REQUIRE(objects.size() == 3);
  CHECK(objects[0].name == "x/../c");  // a key is any text
  CHECK(objects[1].name == "x/a");
  CHECK(objects[2].name == "x/b");
  CHECK(objects[2].bytes == 7);
  CHECK(server.requests().at(0).target == "/bucket?list-type=2&max-keys=1000&prefix=p%2Fx%2F");
  CHECK(server.requests().at(1).target ==
        "/bucket?continuation-token=t%2F1&list-type=2&max-keys=1000&prefix=p%2Fx%2F");
}

TEST_CASE("s3 store: the folders directly below, and no others") {
  ScriptedServer server([](const ServerRequest&) {
    const auto folder = [](const std::string& prefix) {
      return "<CommonPrefixes><Prefix>" + prefix + "</Prefix></CommonPrefixes>";
    };
    return list_reply(object_xml("p/file") + folder("p/b/") + folder("p/a b/") + folder("p//"));
  });
  const auto store = open_store(parse_url("s3://bucket/p"), anonymous_at(server));
  CHECK(store->folders(10) == std::vector<std::string>{"a b", "b"});
  CHECK(server.requests().at(0).target ==
        "/bucket?delimiter=%2F&list-type=2&max-keys=1000&prefix=p%2F");
  CHECK(test::kind_of_error([&] { store->folders(1); }) == ErrorKind::kCorrupt);
}

TEST_CASE("s3 store: lists that are too long, turn in a circle, or name an object twice") {
  const std::string next =
      "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>";
  for (const std::string& inside : {object_xml("a") + object_xml("b") + object_xml("c"),
                                    object_xml("a") + object_xml("a"), next}) {
    CAPTURE(inside);
    ScriptedServer server(always(list_reply(inside)));
    const auto store = open_store(parse_url("s3://bucket"), anonymous_at(server));
    CHECK(test::kind_of_error([&] { store->list("", 2); }) == ErrorKind::kCorrupt);
  }
}

TEST_CASE("s3 store: a redirect to another region says so") {
  ScriptedServer server(
      always(reply("301 Moved", "<Error><Code>PermanentRedirect</Code></Error>")));
  const auto store = open_store(parse_url("s3://bucket"), anonymous_at(server));
  try {
    store->read("a", 10);
    FAIL("no Error was thrown");
  } catch (const Error& error) {
    CHECK(error.what() == std::string("the bucket is elsewhere (301 PermanentRedirect)"));
    CHECK(error.path() == "s3://bucket/a");
  }
}

TEST_CASE("s3 store: a bucket's region is found by what the storage says, once for all requests") {
  const KeysInEnvironment keys;
  for (const char* const status : {"301 Moved", "400 Bad Request"}) {
    ScriptedServer server([&](const ServerRequest& request) {
      const std::string seen = request.headers.at("authorization");
      return seen.find("/eu-west-1/s3/aws4_request") == std::string::npos
                 ? reply(status, "<Error><Code>PermanentRedirect</Code></Error>",
                         "x-amz-bucket-region: eu-west-1\r\n")
                 : serve(request, kContent);
    });
    StorageOptions options = anonymous_at(server);
    options.anonymous = false;
    const auto store = open_store(parse_url("s3://bucket"), options);
    CHECK(read_five(*store) == "56789");
    CHECK(server.count() == 2);
    CHECK(read_five(*store) == "56789");
    CHECK(server.count() == 3);
  }
  for (const char* const region :
       {"eu/west", "us-east-1"}) {  // none, and the one that it is asked in
    ScriptedServer server(always(reply("301 Moved", "<Error><Code>PermanentRedirect</Code></Error>",
                                       "x-amz-bucket-region: " + std::string(region) + "\r\n")));
    const auto store = open_store(parse_url("s3://bucket"), anonymous_at(server));
    CHECK(test::kind_of_error([&] { read_five(*store); }) == ErrorKind::kIo);
    CHECK(server.count() <= 2);
  }
}

TEST_CASE("s3 store: whoever pays for requests says so, under the signature") {
  const KeysInEnvironment keys;
  ScriptedServer server([](const ServerRequest& request) { return serve(request, kContent); });
  StorageOptions options = anonymous_at(server);
  options.anonymous = false;
  options.requester_pays = true;
  CHECK(read_five(*open_store(parse_url("s3://bucket"), options)) == "56789");
  const ServerRequest seen = server.requests().at(0);
  CHECK(seen.headers.at("x-amz-request-payer") == "requester");
  CHECK(seen.headers.at("authorization").find("x-amz-request-payer") != std::string::npos);
}

TEST_CASE("s3 store: requests are signed, and signed anew once where credentials have expired") {
  const KeysInEnvironment keys;
  ScriptedServer server([](const ServerRequest& request) {
    return request.target.ends_with("/old") || request.number == 0
               ? reply("400 Bad Request", "<Error><Code>ExpiredToken</Code></Error>")
               : serve(request, kContent);
  });
  StorageOptions options = anonymous_at(server);
  options.anonymous = false;
  const auto store = open_store(parse_url("s3://bucket"), options);
  CHECK(read_five(*store) == "56789");
  CHECK(server.count() == 2);
  const std::string seen = server.requests().at(1).headers.at("authorization");
  CHECK(seen.starts_with("AWS4-HMAC-SHA256 Credential=AKID/"));
  CHECK(seen.find("/us-east-1/s3/aws4_request") != std::string::npos);
  CHECK(test::kind_of_error([&] { read_five(*store, "old"); }) == ErrorKind::kIo);
  CHECK(server.count() == 4);
}

TEST_CASE("storage options: have bounds") {
  const auto kind = [](auto change) {
    StorageOptions options;
    change(options);
    return test::kind_of_error([&] { options.validate(); });
  };
  StorageOptions().validate();
  CHECK(kind([](StorageOptions& o) { o.most_requests = 0; }) == ErrorKind::kUsage);
  CHECK(kind([](StorageOptions& o) { o.retries = -1; }) == ErrorKind::kUsage);
  CHECK(kind([](StorageOptions& o) { o.stall = std::chrono::milliseconds(0); }) ==
        ErrorKind::kUsage);
  CHECK(kind([](StorageOptions& o) { o.url_command = {""}; }) == ErrorKind::kUsage);
}

}  // namespace packhorse
