#include "base/json.h"

#include "labels/row_reader.h"
#include "support/support.h"

namespace packhorse {

namespace {

using test::kind_of_error;

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

ErrorKind kind_of(const std::string& text, const JsonLimits& limits = {}) {
  return kind_of_error([&] { parse_json(text, limits); });
}

std::string object_of(std::size_t members) {
  std::string text = "{";
  for (std::size_t i = 0; i < members; ++i)
    text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":{}";
  return text + "}";
}

}  // namespace

TEST_CASE("json: nesting up to the limit is a value, beyond it an Error") {
  CHECK(parse_json(nested(64)).is_array());
  CHECK(kind_of(nested(65)) == ErrorKind::kUnsupported);
  CHECK(kind_of(nested(1'000'000)) == ErrorKind::kUnsupported);
  CHECK(kind_of(std::string(1'000'000, '[')) == ErrorKind::kUnsupported);
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"\":";
  CHECK(kind_of(objects) == ErrorKind::kUnsupported);
  std::string siblings = "[";
  for (int i = 0; i < 1000; ++i) siblings += "[[]],";
  CHECK(parse_json(siblings + "0]", {.depth = 3}).size() == 1001);
}

TEST_CASE("json: members of one object up to the limit, of others as many again") {
  constexpr std::size_t kMost = 4096 / test::kEvery;
  const JsonLimits limits = test::kEvery == 1 ? JsonLimits{} : JsonLimits{.members = kMost};
  CHECK(parse_json(object_of(kMost), limits).size() == kMost);
  CHECK(kind_of(object_of(kMost + 1), limits) == ErrorKind::kUnsupported);
  CHECK(parse_json("[" + object_of(4) + "," + object_of(4) + "]", {.members = 4}).size() == 2);
}

TEST_CASE("json: a text beyond the limit is not looked at") {
  CHECK(kind_of("[1,2", {.bytes = 3}) == ErrorKind::kUnsupported);
}

TEST_CASE("json: what is none is corrupt, a number out of all range too") {
  for (const char* text : {"", "{", "[1,]", "nul", "1e999", "\"\xff\"", "{}x"})
    CHECK(kind_of(text) == ErrorKind::kCorrupt);
}

TEST_CASE("json: whole numbers are taken as they stand, or not at all") {
  CHECK(parse_json("18446744073709551615").get<std::uint64_t>() == ~std::uint64_t{0});
  CHECK(parse_json("-128").get<std::int8_t>() == -128);
  CHECK(parse_json("[1,2]").get<std::vector<std::uint8_t>>() == std::vector<std::uint8_t>{1, 2});
  using Counts = std::map<std::string, std::uint64_t>;
  using Refused = ExactJson::type_error;
  for (const char* text :
       {"256", "-1", "1.0", "1.5", "1e2", "1e30", "18446744073709551616", "true", "null", "\"1\""})
    CHECK_THROWS_AS(static_cast<void>(parse_json(text).get<std::uint8_t>()), Refused);
  CHECK_THROWS_AS(static_cast<void>(parse_json("{\"a\":-1}").get<Counts>()), Refused);
}

TEST_CASE("json members: deep values are texts, and members are bounded") {
  std::vector<JsonMember> members;
  CHECK(json_members("{\"a\":" + nested(200'000) + "}", members).empty());
  CHECK(members.at(0).text.size() == 400'000);
  CHECK(json_members(object_of(5000), members) == "more than 4096 members");
}

}  // namespace packhorse
