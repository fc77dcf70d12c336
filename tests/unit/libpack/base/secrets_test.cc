
#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "base/printable.h"
#include "packhorse/base/error.h"

namespace packhorse::test {

namespace {

/// A text with secrets, and how it is shown.
const std::pair<std::string, std::string> kSecrets[] = {
    {"https://h/a.ppm?token=SECRET", "https://h/a.ppm?..."},
    {"https://h/a.ppm?SECRET", "https://h/a.ppm?..."},
    {"HTTPS:/h/a.ppm?sig=SECRET", "HTTPS:/h/a.ppm?..."},
    {R"("coco_url":"https:\/\/h\/a?id=SECRET")", R"("coco_url":"https:\/\/h\/a?...")"},
    {" https://h/a#access_token=SECRET", " https://h/a#..."},
    {"https://h/a b.ppm?SECRET", "https://h/a b.ppm?..."},
    {"https://h/a;token=SECRET", "https://h/a;..."},
    {"https://user:SECRET@h/a@2x.ppm", "https://...@h/a@2x.ppm"},
    {"https://SECRET@h", "https://...@h"},
    {"https://user:SEC/RET@h/a", "https://...@h/a"},
    {"https://user:SEC?RET@h/a", "https://..."},
    {"https://user:SEC@RET@h/a", "https://...@h/a"},
    {"https://proxy/https://user:SECRET@h/a", "https://proxy/https://...@h/a"},
    {"val=https://h/a?SECRET", "val=https://h/a?..."},
    {"a.ppm?sig=SECRET", "a.ppm?..."},
    {"a.ppm?size=3&X-Amz-Signature=SECRET", "a.ppm?..."},
    {"a.ppm?AWSAccessKeyId=SECRET", "a.ppm?..."},
    {"a.ppm?size=3\\u0026token=SECRET", "a.ppm?..."},
    {"it has 'https://h/a?token=SECRET', but there is 'a'",
     "it has 'https://h/a?...', but there is 'a'"},
    {"(https://h/a?SECRET).", "(https://h/a?...)."},
    {"https://h/a?SECRET\nhttps://h/b?SECRET", "https://h/a?...\nhttps://h/b?..."},
};

const std::string kHarmless[] = {
    "",
    "what.jpg?size=3",
    "is it there? then say so",
    "https://h/a is there; is it the one? If so, https://h:8080/b@2x.jpg, or http://[::1]:80/c@d",
    "*.jp?g",
    "C:/photos/a?b",
    "a@b.jpg",
    "#1 = key",
    "key=value",
    "data:image/png;base64,iVBOR/KEY+sig",
    "data:image/png;base64,KEYsig==",
};

}  // namespace

TEST_CASE("secrets: what an address or a parameter may hold is hidden, once and for all") {
  for (const auto& [text, shown] : kSecrets) {
    CAPTURE(text);
    CHECK(without_secrets(text) == shown);
    CHECK(without_secrets(shown) == shown);
    CHECK(printable_text(text).find("SECRET") == std::string::npos);
  }
}

TEST_CASE("secrets: other texts stay as they are") {
  for (const std::string& text : kHarmless) {
    CHECK(without_secrets(text) == text);
    CHECK(!has_secret(text));
  }
}

TEST_CASE("secrets: a user, or a parameter of such a name, is one; other queries may be harmless") {
  for (const char* text : {"https://user:a@h/b", "https://h/b?token=a", "b?size=3&sig=a"})
    CHECK(has_secret(text));
  for (const char* text : {"https://h/b?size=3", "https://h/b@2x.jpg?id=3"})
    CHECK(!has_secret(text));
}

TEST_CASE("secrets: an error never holds them in its words") {
  const Error error(ErrorKind::kUsage, "no 'https://h/a?SECRET'", "a?key=1",
                    "write https://h/a?SECRET");
  CHECK(error.what() == std::string("no 'https://h/a?...'"));
  CHECK(error.advice() == "write https://h/a?...");
  CHECK(error.path() == "a?key=1");
}

}  // namespace packhorse::test
