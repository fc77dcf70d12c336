#include "storage/http/credentials.h"
#include "support/support.h"
#include "unit/libpack/storage/http/credentials/world.h"

namespace packhorse {

TEST_CASE("ini file: parts, settings and comments") {
  const IniFile file = parse_ini(
      "\xef\xbb\xbf# mine\r\n"
      "; and this\r\n"
      "[default]\r\n"
      "AWS_Access_Key_Id = AKIA\r\n"
      "aws_secret_access_key=a=b#c;d/+==\r\n"
      "\r\n"
      "  # further in\r\n"
      "region = eu-west-1 # where we are\r\n"
      "output =\r\n"
      "[ profile \t two ] ; the other\r\n"
      "[profile \"a name\"]\n"
      "region\t=\t x y \n"
      "[default]\n"
      "region = us-west-2");
  CHECK(file == IniFile{{"default",
                         {{"aws_access_key_id", "AKIA"},
                          {"aws_secret_access_key", "a=b#c;d/+=="},
                          {"region", "us-west-2"},
                          {"output", ""}}},
                        {"profile two", {}},
                        {"profile a name", {{"region", "x y"}}}});
}

TEST_CASE("ini file: settings below another bear its name") {
  const IniFile file = parse_ini(
      "[services here]\n"
      "s3 =\n"
      "  Endpoint_URL = http://localhost:8333  # ours\n"
      "  addressing_style = path\n"
      "sts =\n"
      "\tendpoint_url = http://localhost:1\n"
      "ca_bundle = a\n"
      "  b = c\n");
  CHECK(file == IniFile{{"services here",
                         {{"s3", ""},
                          {"s3.endpoint_url", "http://localhost:8333"},
                          {"s3.addressing_style", "path"},
                          {"sts", ""},
                          {"sts.endpoint_url", "http://localhost:1"},
                          {"ca_bundle", "a\nb = c"}}}});
}

TEST_CASE("ini file: a part whose settings all stand further in has them all the same") {
  CHECK(parse_ini("[a]\n  x = 1\n  y = 2\n[b]\n  z = 3\n") ==
        IniFile{{"a", {{"x", "1"}, {"y", "2"}}}, {"b", {{"z", "3"}}}});
}

TEST_CASE("ini file: an empty one is none") {
  CHECK(parse_ini("").empty());
  CHECK(parse_ini("\n\n  \n# nothing").empty());
}

TEST_CASE("ini file: an error names the line, and none of its text") {
  const std::pair<const char*, const char*> wrong[] = {{"[a]\n\nsecret", "line 3"},
                                                       {"secret = 1", "line 1"},
                                                       {"[secret", "line 1"},
                                                       {"[a] secret", "line 1"},
                                                       {"[ ]\nsecret = 1", "line 1"},
                                                       {"[a]\n= secret", "line 2"},
                                                       {"[a]\nb =\n = secret", "line 3"},
                                                       {"[a]\nb = \x1bsecret", "line 2"}};
  for (const auto& [text, line] : wrong) {
    CAPTURE(text);
    CHECK(test::kind_of_error([&] { parse_ini(text); }) == ErrorKind::kUsage);
    const std::string error = test::error_of([&] { parse_ini(text); });
    CHECK(test::says(error, line));
    CHECK(!test::says(error, "secret"));
  }
  CHECK(test::kind_of_error([] { parse_ini(std::string((1u << 20) + 1, '\n')); }) ==
        ErrorKind::kUsage);
}

}  // namespace packhorse
