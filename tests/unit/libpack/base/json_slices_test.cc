#include "base/json_slices.h"

#include "support/support.h"

namespace packhorse {

namespace {

std::vector<std::string> elements(std::string_view array) {
  std::vector<std::string> found;
  for_each_element(array, [&](std::string_view value) { found.emplace_back(value); });
  return found;
}

std::vector<std::string> members(std::string_view object) {
  std::vector<std::string> found;
  for_each_member(object, [&](std::string_view name, std::string_view value) {
    found.push_back(json_characters(name) + '=' + std::string(value));
    return true;
  });
  return found;
}

}  // namespace

TEST_CASE("json slices: values are found as they are written") {
  using List = std::vector<std::string>;
  CHECK(elements("[]").empty());
  CHECK(elements(" [ ] ").empty());
  CHECK(elements("[1, [2,3] ,{\"a\":[4]}, \"]\\\",\" ]") ==
        List{"1", "[2,3]", "{\"a\":[4]}", "\"]\\\",\""});
  CHECK(members("{}").empty());
  CHECK(members("{\"a\" : 1.50 , \"b,}\":{\"c\":\"}\"},\"\\u0061b\":null}") ==
        List{"a=1.50", "b,}={\"c\":\"}\"}", "ab=null"});
}

TEST_CASE("json slices: a visit of members ends when it is told to") {
  int visits = 0;
  for_each_member("{\"a\":1,\"b\":2}",
                  [&](std::string_view, std::string_view) { return ++visits == 9; });
  CHECK(visits == 1);
}

TEST_CASE("json slices: text that is no JSON is corrupt") {
  check_json("{\"a\": [1, 2.5, true, null, \"x\"]}");
  for (const char* text : {"", "[", "[1,]", "{\"a\"}", "[NaN]", "[1e999]", "\"\xff\"", "[] []"})
    CHECK(test::kind_of_error([&] { check_json(text); }) == ErrorKind::kCorrupt);
}

}  // namespace packhorse
