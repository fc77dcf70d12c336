#include "base/text.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "support/support.h"

namespace packhorse {

TEST_CASE("text: a number is all of a text, and in range") {
  CHECK(parse_number<int>("-12") == -12);
  CHECK(parse_number<double>("0.5") == 0.5);
  CHECK(parse_number<std::uint8_t>("255") == 255);
  for (const char* const other : {"", " 1", "1 ", "+1", "1x", "0x1", "256", "-1"})
    CHECK(parse_number<std::uint8_t>(other) == std::nullopt);
}

TEST_CASE("text: a part is less than the number of parts") {
  CHECK(parse_part<std::size_t>("0/1") == std::pair<std::size_t, std::size_t>(0, 1));
  CHECK(parse_part<std::size_t>("3/10") == std::pair<std::size_t, std::size_t>(3, 10));
  for (const char* const other : {"", "3", "/", "3/", "/3", "3/3", "-1/3", "1/2/3", " 1/2"})
    CHECK(parse_part<std::size_t>(other) == std::nullopt);
}

TEST_CASE("text: has a part more than it has separators") {
  using Parts = std::vector<std::string_view>;
  CHECK(split_text("", ',') == Parts{""});
  CHECK(split_text("a", ',') == Parts{"a"});
  CHECK(split_text(",a,,b,", ',') == Parts{"", "a", "", "b", ""});
}

TEST_CASE("text: parts are taken off the front, with their separators") {
  std::string_view rest = "a\n\nb";
  CHECK(take_part(rest, '\n') == "a");
  CHECK(take_part(rest, '\n').empty());
  CHECK(take_part(rest, '\n') == "b");
  CHECK(rest.empty());
}

TEST_CASE("text: blanks around it go, and line breaks in it become blanks") {
  CHECK(trimmed(" \t a b\r\n") == "a b");
  CHECK(trimmed(" \n").empty());
  CHECK(trimmed("/a/b/", "/") == "a/b");
  CHECK(in_one_line("\n a\tb \n") == "a b");
}

TEST_CASE("text: lines end with LF or CR LF, and a CR elsewhere is refused") {
  TextLines lines("\xef\xbb\xbfone\r\n\ntwo");
  std::vector<std::string> found;
  for (std::string_view line; lines.next(line);) found.emplace_back(line);
  CHECK(found == std::vector<std::string>{"one", "", "two"});
  CHECK(lines.number() == 3);
  std::string_view line;
  CHECK(test::kind_of_error([&] { TextLines("one\rtwo\n").next(line); }) == ErrorKind::kUsage);
}

}  // namespace packhorse
