#include "base/json_slices.h"

#include <nlohmann/json.hpp>
#include <random>

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

TEST_CASE("json slices: what is JSON, is so for nlohmann's parser") {
  const std::vector<std::string> texts = {
      R"({"a": [1, -2.5, 0, -0, 1e5, 1E-5, 0.5e+3], "b": {"c": [], "d": {}}, "e": [true, false, null]})",
      R"(["\u00e9\ud83d\ude00", "caf\u00E9", "\"\\/", "é", ""])",
      "[[[[1],[2]],3],\r\n\t{\"x\":[{}]} ]",
      "12345678901234567890123",
      R"("text")",
      "[" + std::string(305, '9') + "]",
      "[" + std::string(320, '9') + "]",
      "[1.\0]"};
  const std::string bytes = "{}[],:\"\\0159-+.eEtrufalsn \n\t\x01\x7f\x80\xc3\xed\xef\xbb\xbf";
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return random() % n; };
  const auto valid = [](const std::string& text) {
    try {
      check_json(text);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  for (const std::string& text : texts) {
    CAPTURE(text);
    CHECK(valid(text) == nlohmann::json::accept(text));
    for (int i = 0; i < 3000; ++i) {
      std::string changed = text;
      for (std::size_t edits = 1 + below(2); edits > 0 && !changed.empty(); --edits) {
        const std::size_t at = below(changed.size());
        const std::size_t what = below(3);
        if (what == 0) changed.erase(at, 1);
        if (what == 1) changed[at] = bytes[below(bytes.size())];
        if (what == 2) changed.insert(at, 1, bytes[below(bytes.size())]);
      }
      CAPTURE(changed);
      CHECK(valid(changed) == nlohmann::json::accept(changed));
    }
  }
}

TEST_CASE("json slices: the last member of a name counts") {
  CHECK(json_member(R"({"a":1,"b":2,"\u0061":3})", "a") == "3");
  CHECK(json_member(R"({"a":1})", "c").empty());
  CHECK(json_member("[1]", "a").empty());
}

}  // namespace packhorse
