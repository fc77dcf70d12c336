#include "base/printable.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace packhorse::test {

namespace {

using namespace std::string_literals;

/// A name, and how it is shown.
const std::pair<std::string, std::string> kNames[] = {
    {"", ""},
    {"cat/1.jpg", "cat/1.jpg"},
    {"wölkchen 日本 🐎", "wölkchen 日本 🐎"},
    {"\x1b[2J", "\\x1b[2J"},
    {"a\tb\nc\rd\a", "a\\x09b\\x0ac\\x0dd\\x07"},
    {"\0\x7f"s, "\\x00\\x7f"},
    {"\xc2\x9b"
     "31m",
     "\\xc2\\x9b31m"},                                       // C1: CSI
    {"\u202egpj.exe", "\\xe2\\x80\\xaegpj.exe"},             // right to left from here
    {"\u2066\u061c", "\\xe2\\x81\\xa6\\xd8\\x9c"},           // directions
    {"a\u200b\ufeffb", "a\\xe2\\x80\\x8b\\xef\\xbb\\xbfb"},  // no width
    {"a\u2028b", "a\\xe2\\x80\\xa8b"},
    {"\U000e0041", "\\xf3\\xa0\\x81\\x81"},                 // a tag
    {"caf\xe9", "caf\\xe9"},                                // Latin-1
    {"\xc0\xaf\xed\xa0\x80", "\\xc0\\xaf\\xed\\xa0\\x80"},  // overlong, a surrogate
    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},           // above U+10FFFF
    {"\xe2\x80", "\\xe2\\x80"},                             // cut
    {"a\\x1b", "a\\\\x1b"}};

/// Undoes printable(): two backslashes are one, \xNN is a byte.
std::string read_back(std::string_view text) {
  std::string name;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      name += text[at];
    } else if (text[at + 1] == '\\') {
      name += text[++at];
    } else {
      name += static_cast<char>(std::stoi(std::string(text.substr(at + 2, 2)), nullptr, 16));
      at += 3;
    }
  }
  return name;
}

}  // namespace

TEST_CASE("printable: what steers a terminal, hides or is no text is escaped, and all else kept") {
  for (const auto& [name, shown] : kNames) {
    CAPTURE(shown);
    CHECK(printable(name) == shown);
  }
}

TEST_CASE("printable: every name can be read back, and no two look alike") {
  for (const auto& [name, shown] : kNames) CHECK(read_back(printable(name)) == name);
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string name = {static_cast<char>(first), static_cast<char>(second)};
      CHECK(read_back(printable(name)) == name);
      CHECK(is_utf8(printable(name)));
    }
  }
}

TEST_CASE("printable text: a printable name in it does not change") {
  for (const auto& [name, shown] : kNames) {
    CHECK(printable_text(printable(name)) == printable(name));
    CHECK(printable_text(printable_text(name)) == printable_text(name));
  }
  CHECK(printable_text("'a\\b\x1b'") == "'a\\b\\x1b'");
}

TEST_CASE("printable JSON: the same document, without what a terminal would act upon") {
  using Json = nlohmann::ordered_json;
  Json names = Json::array();
  for (const auto& [name, shown] : kNames)
    if (is_utf8(name)) names.push_back(name);
  const std::string text = printable_json(names.dump(2));
  CHECK(Json::parse(text) == names);
  std::string lines = text;
  std::erase(lines, '\n');
  CHECK(printable_text(lines) == lines);
  CHECK(printable_json("\"\xff\"") == "\"\\ufffd\"");
}

TEST_CASE("UTF-8: what RFC 3629 allows, and nothing else") {
  for (const std::string_view text : {"", "a", "\x7f", "é", "日", "🐎", "\uffff", "\U0010ffff"})
    CHECK(is_utf8(text));
  for (const std::string_view text : {"\x80", "\xc1\x81", "\xe0\x9f\x80", "\xf0\x8f\x80\x80",
                                      "\xf5\x80\x80\x80", "\xed\xbf\xbf", "\xc3", "a\xff"})
    CHECK_FALSE(is_utf8(text));
}

}  // namespace packhorse::test
