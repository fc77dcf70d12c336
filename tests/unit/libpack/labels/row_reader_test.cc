#include "labels/row_reader.h"

#include "labels/text_file.h"
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
  CHECK(cells("a,b\nc,\n,d\n", kCommas) == wanted);
  CHECK(cells("a,b\r\nc,\r\n,d\r\n", kCommas) == wanted);
  CHECK(cells("a,b\nc,\n,d", kCommas) == wanted);
  CHECK(cells("a,b\r\nc,\r\n,d\r", kCommas) == wanted);
  CHECK(cells("a\tb\r\nc\t\n\td", kTabs) == wanted);
}

TEST_CASE("row reader: empty lines and a byte order mark are passed over, and lines counted") {
  const std::vector<Row> all = rows("\xef\xbb\xbf\n\r\na,b\n\n\nc,d\n\n", kCommas);
  REQUIRE(all.size() == 2);
  CHECK(all[0].cells == Cells{"a", "b"});
  CHECK(all[0].line == 3);
  CHECK(all[0].offset == 6);
  CHECK(all[1].line == 6);
  CHECK(rows("", kCommas).empty());
  CHECK(rows("\n\r\n", kLines).empty());
}

TEST_CASE("row reader: quotes hold separators, line breaks and doubled quotes (RFC 4180)") {
  CHECK(cells("\"a,b\",\"c\nd\",\"e\"\"f\",\"\"\r\ng,h,i,j\n", kCommas) ==
        std::vector<Cells>{{"a,b", "c\nd", "e\"f", ""}, {"g", "h", "i", "j"}});
  const std::vector<Row> all = rows("\"1\n2\n3\",x\ny,z\n", kCommas);
  CHECK(all[1].line == 4);
}

TEST_CASE("row reader: a quote inside a cell that does not begin with one is a character") {
  CHECK(cells("5\" disk,a\"b\"\n", kCommas) == std::vector<Cells>{{"5\" disk", "a\"b\""}});
  CHECK(cells("\"a\tb\"\n", kTabs) == std::vector<Cells>{{"a\tb"}});
}

TEST_CASE(
    "row reader: blanks around a cell and around its quotes count for nothing, those inside do") {
  CHECK(cells(" a b , \"c\" \t,\" d \"\r\n", kCommas) == std::vector<Cells>{{"a b", "c", " d "}});
  CHECK(cells("a\t \"b\tc\"\n", kTabs) == std::vector<Cells>{{"a", "b\tc"}});
  CHECK(cells(" {\"a\": 1} \n", kLines) == std::vector<Cells>{{" {\"a\": 1} "}});
}

TEST_CASE(
    "row reader: a carriage return that ends no line is an Error, and so are too many cells") {
  CHECK(kind_of_error([&] { rows("a,b\rc,d\r", kCommas); }) == ErrorKind::kUsage);
  CHECK(kind_of_error([&] { rows(std::string(70'000, ','), kCommas); }) == ErrorKind::kUsage);
}

TEST_CASE("text file: UTF-16 with its mark reads as UTF-8, line by line") {
  const TemporaryDirectory folder;
  const auto text_of = [&](const std::string& bytes) {
    put(folder / "text", bytes);
    const UniqueFd fd = open_text(folder / "text");
    std::vector<Row> all;
    RowReader reader(fd.get(), folder / "text", kCommas);
    for (Row row; reader.next(row);) all.push_back(row);
    return all;
  };
  const std::string little("\xff\xfe\x61\0,\0\xe9\0\r\0\n\0\n\0\x62\0,\0\x3d\xd8\x00\xde", 22);
  const std::vector<Row> all = text_of(little);
  REQUIRE(all.size() == 2);
  CHECK(all[0].cells == Cells{"a", "\xc3\xa9"});
  CHECK(all[1].cells == Cells{"b", "\xf0\x9f\x98\x80"});
  CHECK(all[1].line == 3);
  CHECK(text_of(std::string("\xfe\xff\0a\0,\0b", 8)).front().cells == Cells{"a", "b"});
  for (const std::string& bad : {std::string("\xff\xfe\x61", 3), std::string("\xff\xfe\x00\xde", 4),
                                 std::string("a\0,\0b\0", 6)})
    CHECK(kind_of_error([&] { text_of(bad); }) == ErrorKind::kUsage);
}

TEST_CASE("row reader: broken quoting is an Error, as nobody knows how many rows it hides") {
  for (const char* text : {"a,\"b\nc,d\n", "a,\"b\"c\nd,e\n", "\"", "a\n\"\"\"\n"}) {
    CHECK(kind_of_error([&] { rows(text, kCommas); }) == ErrorKind::kUsage);
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

TEST_CASE("row reader: a carriage return that ends no line is refused in lines, too") {
  for (const char* text : {"1\r2\r", "a 1\rb 2\n", "a\r\nb\r\r\n"})
    CHECK_MESSAGE(kind_of_error([&] { rows(text, kLines); }) == ErrorKind::kUsage, text);
  CHECK(rows("a\r\nb\r\n", kLines).size() == 2);
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
