#include "dataset/url.h"

#include "base/file.h"
#include "support/support.h"

namespace packhorse {

namespace {

/// What the error of a refused URL says, with its path and advice.
std::string refusal(std::string_view text) {
  try {
    parse_url(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUsage);
    CHECK(!error.advice().empty());
    return std::string(error.what()) + " " + error.path().string() + " " + error.advice();
  }
  FAIL("no Error was thrown");
  return {};
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("url: is taken apart") {
  CHECK(parse_url("s3://bucket/packed/train") == Url{"s3", "bucket", "packed/train", ""});
  CHECK(parse_url("https://example.com:8443/a/b?x=1&y=%2F") ==
        Url{"https", "example.com:8443", "a/b", "x=1&y=%2F"});
  CHECK(parse_url("http://127.0.0.1") == Url{"http", "127.0.0.1", "", ""});
  CHECK(parse_url("http://[::1]:8080/a") == Url{"http", "[::1]:8080", "a", ""});
  CHECK(parse_url("https://host?x") == Url{"https", "host", "", "x"});
  CHECK(parse_url("https://host/?") == Url{"https", "host", "", ""});
}

TEST_CASE("url: scheme and host are in lower case, and without the scheme's own port") {
  CHECK(parse_url("HTTPS://Example.COM:443/A") == Url{"https", "example.com", "A", ""});
  CHECK(parse_url("http://host:080/") == Url{"http", "host", "", ""});
  CHECK(parse_url("http://host:443/") == Url{"http", "host:443", "", ""});
  CHECK(parse_url("S3://Old_Bucket/A") == Url{"s3", "Old_Bucket", "A", ""});
}

TEST_CASE("url: its path is decoded, without slashes at its ends") {
  CHECK(parse_url("s3://bucket//a%20b/c+d%3D%28%C3%BC%29/").path == "a b/c+d=(ü)");
  CHECK(parse_url("s3://bucket/a//b").path == "a//b");
  CHECK(parse_url("s3://bucket/%2Fa%2fb%2F").path == "a/b");
  CHECK(parse_url("s3://bucket/100%25").path == "100%");
  CHECK(parse_url("s3://bucket/a@b:c/...").path == "a@b:c/...");
}

TEST_CASE("url: schemes of other storage are refused with what to use instead") {
  const auto advice_for = [](const char* text) -> std::string {
    try {
      parse_url(text);
    } catch (const Error& error) {
      return error.advice();
    }
    return "none";
  };
  CHECK(advice_for("gs://bucket/a").find("`endpoint=https://storage.googleapis.com`") !=
        std::string::npos);
  CHECK(advice_for("ABFSS://bucket/a").find("`url_command=`") != std::string::npos);
  CHECK(advice_for("hf://datasets/a/b").find("packhorse.from_parquet()") != std::string::npos);
  CHECK(advice_for("ftp://host/a").find("s3://, https:// or http://") != std::string::npos);
}

TEST_CASE("url: what cannot be one is refused") {
  for (const char* const text : {"",
                                 "bucket/a",
                                 "://a",
                                 "ftp://host/a",
                                 "gs://bucket/a",
                                 "s3:/bucket",
                                 "s3://",
                                 "s3:///a",
                                 "s3://ab",
                                 "s3://-bucket",
                                 "s3://a..b",
                                 "s3://buck et/a",
                                 "s3://bucket:80/a",
                                 "s3://bucket?x",
                                 "s3://bucket/a?x=1",
                                 "s3://bucket/a#b",
                                 "https:///a",
                                 "https://host:0/",
                                 "https://host:65536/",
                                 "https://host:/",
                                 "https://host:8x/",
                                 "https://ho st/",
                                 "https://-host/",
                                 "https://host..com/",
                                 "https://host\\a/",
                                 "https://[::1/",
                                 "https://[]/",
                                 "https://[::1]x/",
                                 "https://[::g]/",
                                 "https://::1/",
                                 "https://ü.example/",
                                 "http://[fe80::1%1]/",
                                 "https://host/%",
                                 "https://host/%2",
                                 "https://host/%zz",
                                 "https://host/%00",
                                 "https://host/%0a",
                                 "https://host/a\nb",
                                 "https://host/a\x7f",
                                 "https://host/../a",
                                 "https://host/a/.",
                                 "https://host/%2e%2E/a",
                                 "https://host/a?x=a b",
                                 "https://host/a?x=%2",
                                 "https://host/a?ü"}) {
    CAPTURE(text);
    CHECK(test::kind_of_error([&] { parse_url(text); }) == ErrorKind::kUsage);
  }
  const std::string host = "https://" + std::string(64, 'a') + ".com/";
  CHECK(test::kind_of_error([&] { parse_url(host); }) == ErrorKind::kUsage);
  CHECK(test::kind_of_error([] { parse_url("s3://bucket/" + std::string(4096, 'a')); }) ==
        ErrorKind::kUsage);
  CHECK(parse_url("s3://bucket/" + std::string(4084, 'a')).path.size() == 4084);
}

TEST_CASE("url: an error shows neither a password nor a query") {
  for (const std::string text :
       {"https://user:secret@host/a", "https://user:sec/secret@host/a", "https://u:s?secret@host/",
        "https://u:secret#@host/", "https://host/a?sig=secret#b", "https://host:x/a?sig=secret",
        "https://host/%zz?sig=secret", "https://host/a?sig=secret%", "s3://bucket/a?sig=secret",
        "ftp://user:secret@host/a?b", "https://host:x/a?mail=a@secret", "secret", "a b://secret"}) {
    CAPTURE(text);
    CHECK(!says(refusal(text), "secret"));
  }
  CHECK(says(refusal("https://u:s@host/a"), "a user or a password"));
  CHECK(says(refusal("https://host:x/a?b"), "'https://host:x/a?...'"));
  CHECK(says(refusal("s3://bucket/\x1b[31m"), "\\x1b[31m"));
}

TEST_CASE("url: is shown without its query, and safe for a terminal") {
  CHECK(parse_url("https://host/a%20b?sig=secret").shown() == "https://host/a b");
  CHECK(parse_url("s3://bucket").shown() == "s3://bucket");
  CHECK(Url{"https", "host", "a\x1b\n", "q"}.shown() == "https://host/a\\x1b\\x0a");
}

TEST_CASE("url: leads to what lies below it, with its query") {
  CHECK(parse_url("s3://bucket").below("dataset.json").path == "dataset.json");
  CHECK(parse_url("https://host/a?sig=x").below("b/c") == Url{"https", "host", "a/b/c", "sig=x"});
  for (const char* const name : {"", "/a", "a/", "../a", "a/./b", "a//b"}) {
    CAPTURE(name);
    CHECK(test::kind_of_error([&] { parse_url("s3://bucket/a").below(name); }) ==
          ErrorKind::kCorrupt);
  }
}

TEST_CASE("url: only what begins with a scheme is one") {
  for (const char* const text : {"s3://a", "https://", "gs://x", "a+b-c.d://"}) CHECK(is_url(text));
  for (const char* const text :
       {"", "a", "/a://b", "./s3://a", "://", "c://a", "a b://c", "s3:/a"}) {
    CAPTURE(text);
    CHECK(!is_url(text));
  }
}

TEST_CASE("url: everything but letters, digits and four marks is encoded") {
  CHECK(percent_encoded("azAZ09-._~", false) == "azAZ09-._~");
  CHECK(percent_encoded("a b/c+d=e%ü!'()*$&", true) ==
        "a%20b/c%2Bd%3De%25%C3%BC%21%27%28%29%2A%24%26");
  CHECK(percent_encoded("prefix/", false) == "prefix%2F");
  CHECK(percent_encoded(std::string_view("\0\xff", 2), true) == "%00%FF");
}

}  // namespace packhorse
