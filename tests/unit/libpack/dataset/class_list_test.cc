#include "dataset/class_list.h"

#include "support/support.h"

namespace packhorse {

namespace {

using test::kind_of_error;
using test::put;
using test::TemporaryDirectory;
using Names = std::vector<std::string>;

Names read(std::string_view text) {
  const TemporaryDirectory directory;
  put(directory / "classes.txt", text);
  return read_class_list(directory / "classes.txt");
}

}  // namespace

TEST_CASE("class list: names keep the order of the lines") {
  CHECK(read("wood\nballs\nclouds\n") == Names{"wood", "balls", "clouds"});
}

TEST_CASE("class list: the last line needs no line break") {
  CHECK(read("a\nb") == Names{"a", "b"});
}

TEST_CASE("class list: Windows line ends are taken off") {
  CHECK(read("a\r\nb\r\n") == Names{"a", "b"});
}

TEST_CASE("class list: a byte order mark is no part of the first name") {
  CHECK(read("\xef\xbb\xbf"
             "a\nb\n") == Names{"a", "b"});
  // A dataset's own text has none: its first class may be called so.
  CHECK(parse_class_list("\xef\xbb\xbf"
                         "a\n",
                         {}) == Names{"\xef\xbb\xbf"
                                      "a"});
}

TEST_CASE("class list: spaces belong to the name") { CHECK(read(" a b \n") == Names{" a b "}); }

TEST_CASE("class list: an empty line, a name given twice and an empty file are refused") {
  for (const std::string_view text : {"a\n\nb\n", "\n", "a\n\r\n", "a\nb\na\n", "a\r\na\n", ""}) {
    CAPTURE(text);
    CHECK(kind_of_error([&] { read(text); }) == ErrorKind::kUsage);
  }
}

TEST_CASE("class list: a file that is not there is named") {
  CHECK(kind_of_error([] { read_class_list("no/such/file"); }) == ErrorKind::kNotFound);
}

TEST_CASE("class list: what is written is read again") {
  const Names names = {"b", "a", "with space", "\xff\xfe no UTF-8", "\xc3\xa4"};
  CHECK(read(class_list_text(names)) == names);
}

TEST_CASE("class list: a name with a line break is refused") {
  for (const std::string name : {"a\nb", "a\r", "\n"}) {
    CHECK(kind_of_error([&] { class_list_text({"a", name}); }) == ErrorKind::kUsage);
  }
}

}  // namespace packhorse
