#include <regex.h>

#include <vector>

#include "formats/wds/layout.h"
#include "support/support.h"

namespace packhorse::wds {

namespace {

/// "key|extension", or "-" for a name that WebDataset ignores.
std::string cut(std::string_view name) {
  const std::optional<MemberName> member = cut_member_name(name);
  return member ? member->key + "|" + member->extension : "-";
}

}  // namespace

TEST_CASE("member name: the key ends at the first dot of the last part") {
  CHECK(cut("000000017.jpg") == "000000017|jpg");
  CHECK(cut("x.seg.png") == "x|seg.png");
  CHECK(cut("a/b.jpg") == "a/b|jpg");
  CHECK(cut("/x.cls") == "/x|cls");
  CHECK(cut("x.") == "x|");
  CHECK(cut("a..b") == "a|.b");
}

TEST_CASE("member name: dots in directories do not end the key") {
  CHECK(cut("a.b/c.jpg") == "a.b/c|jpg");
  CHECK(cut("a.b/c.d/e.seg.png") == "a.b/c.d/e|seg.png");
  CHECK(cut("./x.jpg") == "./x|jpg");
  CHECK(cut("../x.jpg") == "../x|jpg");
}

TEST_CASE("member name: extensions are lower case, keys are as they are") {
  CHECK(cut("X.JPG") == "X|jpg");
  CHECK(cut("A/x.Seg.PNG") == "A/x|seg.png");
}

TEST_CASE("member name: names without a key or a dot are passed over") {
  for (const char* name :
       {"", "nodot", ".hidden", "a.b/c", "a.jpg/", "a/b/", "/", ".", "..", "./"}) {
    CAPTURE(name);
    CHECK(cut(name) == "-");
  }
}

TEST_CASE(
    "member name: a dot file in a directory gets the directory as its key, as in WebDataset") {
  CHECK(cut("a/.hidden") == "a/|hidden");
}

TEST_CASE("member name: a directory part has no line break in it, as '.' matches none") {
  CHECK(cut("a\nb.jpg") == "a\nb|jpg");
  CHECK(cut("d\ne/f.jpg") == "d\ne/f|jpg");
  CHECK(cut("d.e\n/f.jpg") == "-");
  CHECK(cut("d.e/f\n.jpg") == "d.e/f\n|jpg");
}

TEST_CASE(
    "member name: those with __ around them, or around their first directory, are passed over") {
  for (const char* name : {"__meta__", "__meta__/a.jpg", "____", "____/x", "__a.jpg__", "__a__b__"})
    CHECK(is_meta_name(name));
  for (const char* name :
       {"", "___", "__a.jpg", "__a__.jpg", "a__", "a/__b__", "./__a__/x.jpg", "__a/b__/c.jpg"})
    CHECK_FALSE(is_meta_name(name));
}

TEST_CASE("member name: agrees with WebDataset's expression on every short name") {
  regex_t rule;  // POSIX: std::regex sets off a false alarm of g++ 12 under sanitizers
  REQUIRE(::regcomp(&rule, "^((.*/|)[^.]+)[.]([^/]*)$", REG_EXTENDED) == 0);
  std::vector<std::string> names = {""};
  for (std::size_t i = 0; names[i].size() < 7; ++i) {
    for (const char c : {'a', '.', '/'}) names.push_back(names[i] + c);
  }
  for (const std::string& name : names) {
    regmatch_t groups[4];
    const auto group = [&](int i) {
      return name.substr(static_cast<std::size_t>(groups[i].rm_so),
                         static_cast<std::size_t>(groups[i].rm_eo - groups[i].rm_so));
    };
    const bool matches = ::regexec(&rule, name.c_str(), 4, groups, 0) == 0;
    CAPTURE(name);
    CHECK(cut(name) == (matches ? group(1) + "|" + group(3) : "-"));
  }
  ::regfree(&rule);
}

}  // namespace packhorse::wds
