#include "storage/http/credentials/answer.h"

#include "support/support.h"
#include "unit/libpack/storage/http/credentials/world.h"

namespace packhorse {

using test::kNoon;

TEST_CASE("answer: times are read as services write them") {
  CHECK(parse_time("2013-05-24T12:00:00Z") == kNoon);
  CHECK(parse_time("2013-05-24t12:00:00z") == kNoon);
  CHECK(parse_time("2013-05-24 12:00:00.123456789Z") == kNoon);
  CHECK(parse_time("2013-05-24T14:30:00+02:30") == kNoon);
  CHECK(parse_time("2013-05-24T11:00:00-0100") == kNoon);
  CHECK(*parse_time("9999-12-31T23:59:59Z") > kNoon + std::chrono::years(100));
}

TEST_CASE("answer: what is not a time is none") {
  for (const char* const text :
       {"", "2013", "2013-05-24", "2013-05-24T12:00:00", "2013-05-24T12:00:00.Z",
        "2013-05-24T12:00:00.5", "2013-05-24T12:00:00+1", "2013-05-24T12:00:00+01:0",
        "2013-05-24T12:00:00Zx", "2013-02-30T12:00:00Z", "2013-13-01T12:00:00Z",
        "2013-05-24T24:00:00Z", "2013-05-24T12:60:00Z", "2013-05-24T12:00:61Z",
        "2013-05-24T1:00:000Z", "-013-05-24T12:00:00Z", "1969-12-31T23:59:59Z",
        "2013-05-24T12:00:00+24:00", "Fri, 24 May 2013 12:00:00 GMT"}) {
    CAPTURE(text);
    CHECK(!parse_time(text));
  }
}

TEST_CASE("answer: JSON gives its fields") {
  const CredentialFields fields = fields_in_json(
      R"({"Code": "Success", "AccessKeyId": "A", "SecretAccessKey": "s", "Token": "t",)"
      R"( "Expiration": "2013-05-24T13:00:00Z", "More": [1]})",
      "Token", "it");
  const Credentials credentials = checked_credentials(fields, "it", kNoon);
  CHECK(credentials.access_key == "A");
  CHECK(credentials.secret_key == "s");
  CHECK(credentials.session_token == "t");
  CHECK(credentials.expires == kNoon + std::chrono::hours(1));
}

TEST_CASE("answer: credentials may stay") {
  const CredentialFields fields = fields_in_json(
      R"({"AccessKeyId": "A", "SecretAccessKey": "s", "Expiration": null})", "Token", "it");
  CHECK(!checked_credentials(fields, "it", kNoon).expires);
}

TEST_CASE("answer: an error does not show what it holds") {
  for (const std::string json :
       {"", "secret", "[\"secret\"]", R"({"AccessKeyId": "secret")",
        R"({"AccessKeyId": ["secret"]})", R"({"AccessKeyId": "A", "SecretAccessKey": 1})",
        R"({"AccessKeyId": "A", "SecretAccessKey": "secret" x})"}) {
    CAPTURE(json);
    CHECK(test::kind_of_error([&] { fields_in_json(json, "Token", "it"); }) == ErrorKind::kIo);
    CHECK(!test::says(test::error_of([&] { fields_in_json(json, "Token", "it"); }), "secret"));
  }
  const std::string deep = R"({"AccessKeyId": )" + std::string(1000, '[') + "}";
  CHECK(test::kind_of_error([&] { fields_in_json(deep, "Token", "it"); }) == ErrorKind::kIo);
  const std::string long_answer = R"({"AccessKeyId": ")" + std::string(200'000, 'a') + "\"}";
  CHECK(test::kind_of_error([&] { fields_in_json(long_answer, "Token", "it"); }) == ErrorKind::kIo);
}

TEST_CASE("answer: keys that cannot be are refused without showing them") {
  const CredentialFields wrong[] = {{"", "secret", "", ""},
                                    {"A", "", "secret", ""},
                                    {"A", "secret\r\nx: y", "", ""},
                                    {"A secret", "s", "", ""},
                                    {"A", "s", "secret\n", ""},
                                    {"A", "s", "secret\xc3\xbc", ""},
                                    {std::string(2000, 'A'), "secret", "", ""},
                                    {"A", "s", std::string(40'000, 't'), ""},
                                    {"A", "secret", "", "tomorrow"},
                                    {"A", "secret", "", "2013-05-24T12:00:00Z"}};
  for (const CredentialFields& fields : wrong) {
    CHECK(test::kind_of_error([&] { checked_credentials(fields, "it", kNoon); }) == ErrorKind::kIo);
    const std::string error = test::error_of([&] { checked_credentials(fields, "it", kNoon); });
    CHECK(error.starts_with("it "));
    CHECK(!test::says(error, "secret"));
  }
}

}  // namespace packhorse
