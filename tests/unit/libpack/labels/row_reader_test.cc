#include "labels/row_reader.h"

#include "labels/json_members.h"
#include "support/support.h"

namespace packhorse {

namespace {

using test::kind_of_error;
using test::put;
using test::TemporaryDirectory;
using Cells = std::vector<std::string>;

/// All rows of a file with this text. Checks that they do not depend on how many bytes are read at
/// once.
std::vector<Row> rows(const std::string& text, RowSyntax syntax) {
  const TemporaryDirectory folder;
  put(folder / "rows", text);
  const UniqueFd fd = open_for_reading(folder / "rows");
  std::vector<Row> all;
  for (const std::size_t read_bytes : {1u, 2u, 3u, 7u, 4096u}) {
    std::vector<Row> now;
    RowReader reader(fd.get(), folder / "rows", syntax, 0, read_bytes);
    for (Row row; reader.next(row);) now.push_back(row);
    for (std::size_t i = 0; i < all.size() && i < now.size(); ++i) {
      CHECK(now[i].cells == all[i].cells);
      CHECK(now[i].line == all[i].line);
      CHECK(now[i].offset == all[i].offset);
    }
    CHECK((all.empty() || all.size() == now.size()));
    all = std::move(now);
  }
  for (const Row& row : all) {
    Row again;
    REQUIRE(RowReader(fd.get(), folder / "rows", syntax, row.offset, 5).next(again));
    if (row.offset > 0) CHECK(again.cells == row.cells);
  }
  return all;
}

std::vector<Cells> cells(const std::string& text, RowSyntax syntax) {
  std::vector<Cells> all;
  for (const Row& row : rows(text, syntax)) all.push_back(row.cells);
  return all;
}

}  // namespace

TEST_CASE("row reader: rows end with LF or CR LF, the last one with the file too") {
  const std::vector<Cells> wanted = {{"a", "b"}, {"c", ""}, {"", "d"}};
  CHECK(cells("a,b\nc,\n,d\n", kCsv) == wanted);
  CHECK(cells("a,b\r\nc,\r\n,d\r\n", kCsv) == wanted);
  CHECK(cells("a,b\nc,\n,d", kCsv) == wanted);
  CHECK(cells("a,b\r\nc,\r\n,d\r", kCsv) == wanted);
  CHECK(cells("a\tb\r\nc\t\n\td", kTsv) == wanted);
}

TEST_CASE("row reader: empty lines and a byte order mark are passed over, and lines counted") {
  const std::vector<Row> all = rows("\xef\xbb\xbf\n\r\na,b\n\n\nc,d\n\n", kCsv);
  REQUIRE(all.size() == 2);
  CHECK(all[0].cells == Cells{"a", "b"});
  CHECK(all[0].line == 3);
  CHECK(all[0].offset == 6);
  CHECK(all[1].line == 6);
  CHECK(rows("", kCsv).empty());
  CHECK(rows("\n\r\n", kLines).empty());
}

TEST_CASE("row reader: quotes hold separators, line breaks and doubled quotes (RFC 4180)") {
  CHECK(cells("\"a,b\",\"c\nd\",\"e\"\"f\",\"\"\r\ng,h,i,j\n", kCsv) ==
        std::vector<Cells>{{"a,b", "c\nd", "e\"f", ""}, {"g", "h", "i", "j"}});
  const std::vector<Row> all = rows("\"1\n2\n3\",x\ny,z\n", kCsv);
  CHECK(all[1].line == 4);
}

TEST_CASE("row reader: a quote inside a cell that does not begin with one is a character") {
  CHECK(cells("5\" disk,a\"b\"\n", kCsv) == std::vector<Cells>{{"5\" disk", "a\"b\""}});
  CHECK(cells("\"a\tb\"\n", kTsv) == std::vector<Cells>{{"\"a", "b\""}});
}

TEST_CASE("row reader: broken quoting is an Error, as nobody knows how many rows it hides") {
  for (const char* text : {"a,\"b\nc,d\n", "a,\"b\"c\nd,e\n", "\"", "a\n\"\"\"\n"}) {
    CHECK(kind_of_error([&] { rows(text, kCsv); }) == ErrorKind::kUsage);
  }
}

TEST_CASE("json members: strings are their characters, other values their text to the last digit") {
  std::vector<JsonMember> members;
  const std::string line =
      R"({ "a" : "x\"y\u00e4", "b":1.10 ,"c":[1, {"d":"]}"}], "e" :null,"\u0066":12345678901234567890123})";
  CHECK(json_members(line, members).empty());
  REQUIRE(members.size() == 5);
  CHECK(members[0].text == "x\"y\xc3\xa4");
  CHECK(members[0].type == JsonMember::Type::kString);
  CHECK(members[1].text == "1.10");
  CHECK(members[2].text == R"([1, {"d":"]}"}])");
  CHECK(members[3].type == JsonMember::Type::kNull);
  CHECK(members[4].name == "f");
  CHECK(members[4].text == "12345678901234567890123");
  CHECK(json_members("{}", members).empty());
  CHECK(members.empty());
}

TEST_CASE("json members: what is no object, or names a member twice, is refused with the reason") {
  std::vector<JsonMember> members;
  CHECK(json_members("{\"a\":1", members) == "no JSON");
  CHECK(json_members("", members) == "no JSON");
  CHECK(json_members("{\"a\":\"\xff\"}", members) == "no JSON");
  CHECK(json_members("[1]", members) == "no JSON object");
  CHECK(json_members("{\"a\":1,\"a\":2}", members) == "names 'a' twice");
}

}  // namespace packhorse
