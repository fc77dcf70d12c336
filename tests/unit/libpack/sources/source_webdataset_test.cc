#include <algorithm>

#include "listings.h"
#include "sources/kinds.h"
#include "sources/webdataset/shard_names.h"
#include "support/support.h"
#include "unit/libpack/archive/tiny_tar.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::put;
using test::tar_of;
using test::TemporaryDirectory;
using test::tiny_image;
using webdataset::Look;
using Members = std::vector<std::pair<std::string, std::string>>;
using Dataset = std::vector<Members>;

struct Shards {
  TemporaryDirectory root;
  std::unique_ptr<Source> source;
  Listing listing;

  explicit Shards(const Dataset& shards, const ListOptions& options = {}) {
    for (std::size_t i = 0; i < shards.size(); ++i)
      put(root / ("s" + std::to_string(i) + ".tar"), tar_of(shards[i]));
    source = open_source(root.path(), "webdataset");
    listing = source->list(options);
  }

  Names extras(std::size_t i) const {
    Input input;
    source->read(listing.splits[0], i, input);
    Names all = {std::string(as_text(input.bytes))};
    for (std::size_t f = 0; f < input.fields; ++f) {
      all.push_back(listing.fields[input.extras[f].field] + ":" +
                    std::string(as_text(input.extras[f].bytes)));
    }
    return all;
  }
};

Look look(const Members& members) {
  const TemporaryDirectory root;
  put(root / "a.tar", tar_of(members));
  return webdataset::look_at(root / "a.tar");
}

}  // namespace

TEST_CASE("source webdataset: samples stand in stored order, shards in the order of their names") {
  const Shards shards(Dataset{{{"b.jpg", "x"}, {"b.cls", "1"}, {"a.cls", "0"}, {"a.jpg", "y"}},
                              {{"b.jpg", "z"}, {"b.cls", "2"}}});
  CHECK(entries(shards.listing.splits.at(0)) ==
        Names{"s0.tar/b.jpg=1", "s0.tar/a.jpg=0", "s1.tar/b.jpg=2"});
  CHECK(shards.listing.classes == Names{"0", "1", "2"});
  CHECK_FALSE(shards.source->ordered());
}

TEST_CASE("source webdataset: a byte order mark is no part of a label") {
  const std::string mark = "\xef\xbb\xbf";
  const Shards shards(Dataset{{{"a.jpg", "x"}, {"a.cls", mark + "cat\r\n"}},
                              {{"b.jpg", "y"}, {"b.json", mark + R"({"label": "dog"})"}}});
  CHECK(shards.listing.classes == Names{"cat", "dog"});
}

TEST_CASE("source webdataset: members beside image and label are fields, by name") {
  const Shards shards(
      Dataset{{{"a.txt", "t"}, {"a.jpg", "i"}, {"a.cls", "0"}, {"a.json", "{}"}},
              {{"b.seg.png", "m"}, {"b.png", "p"}, {"b.cls", "0"}, {"b.txt", "u"}}});
  CHECK(shards.listing.fields == Names{"json", "seg.png", "txt"});
  CHECK(shards.extras(0) == Names{"i", "json:{}", "txt:t"});
  CHECK(shards.extras(1) == Names{"p", "seg.png:m", "txt:u"});
  CHECK(shards.listing.splits[0].entries[1].field_bytes == 2);
  CHECK(shards.listing.seen() == 2);
}

TEST_CASE(
    "source webdataset: fields of less than 4 GiB together are taken, and larger ones a reject") {
  constexpr std::uint64_t kHalf = std::uint64_t{2} << 30;
  const TemporaryDirectory root;
  const auto list = [&](std::uint64_t last) {
    test::put_tar_with_holes(root / "s0.tar",
                             {{"0.jpg", "x"}, {"0.cls", "cat"}, {"1.jpg", "y"}, {"1.cls", "dog"}},
                             {{"1.a", kHalf - 10}, {"1.b", kHalf}, {"1.c", last}});
    return open_source(root.path(), "webdataset")->list({});
  };
  const Listing most = list(9);
  REQUIRE(most.splits.at(0).entries.size() == 2);
  CHECK(most.splits[0].entries[1].field_bytes == 0xffffffff);
  const Listing more = list(10);
  CHECK(entries(more.splits.at(0)) == Names{"s0.tar/0.jpg=0"});
  CHECK(rejects(more.splits[0]) ==
        Names{"s0.tar/1.jpg: its extra fields have more than 4 GiB together"});
  CHECK(more.classes == Names{"cat"});
}

TEST_CASE("source webdataset: members are put together by WebDataset's rule, name by name") {
  struct Row {
    Names members;  ///< each holds its own name, a .cls the label 0
    Names samples;  ///< "path extension ...", rejected ones with a "!" before them
    std::size_t skipped = 0;
  };
  const std::string deep = std::string(88, 'd') + '/' + std::string(7, 'e');
  for (const Row& row : std::vector<Row>{
           {{"a.b/c.jpg", "a.b/c.cls", "a.b/c.d.txt"}, {"a.b/c.jpg d.txt"}},
           {{"a.b/c.d/e.jpg", "a.b/c.d/e.cls"}, {"a.b/c.d/e.jpg"}},
           {{"./x.jpg", "./x.cls"}, {"x.jpg"}},
           {{"./x.jpg", "x.cls"}, {"!x.cls", "!x.jpg"}},
           {{"x.cls", "x.seg.jpg", "x.jpg"}, {"x.jpg seg.jpg"}},
           {{"x.jpg", "x.cls", "x..txt"}, {"x.jpg"}, 1},
           {{"X.JPG", "X.Cls", "X.A.Txt"}, {"X.JPG a.txt"}},
           {{"x.jpg", "X.cls"}, {"!X.cls", "!x.jpg"}},
           {{"x.jpg", ".y.jpg", "a/.DS_Store", "x.cls"}, {"x.jpg"}, 2},
           {{".h/x.jpg", ".h/x.cls"}, {".h/x.jpg"}},
           {{"__meta__/x.jpg", "__a.jpg__", "y.jpg", "y.cls"}, {"y.jpg"}, 2},
           {{"__a__.jpg", "__a__.cls", "b/__c__/d.jpg", "b/__c__/d.cls"},
            {"__a__.jpg", "b/__c__/d.jpg"}},
           {{"x.jpg", "x.cls", "x.__note__", "x.__key__", "x.__url__"}, {"x.jpg __note__"}, 2},
           {{"", ".", "./", "x", "a.b/x", "y.jpg", "y.cls", "y."}, {"y.jpg"}, 5},
           {{deep + ".jpg", deep + ".cls"}, {deep + ".jpg"}},
           {{"/x.jpg", "/x.cls", "../y.jpg", "z.jpg", "z.cls"},
            {"!../y.jpg", "!/x.cls", "!/x.jpg", "z.jpg"}},
       }) {
    CAPTURE(row.members.front());
    Members members;
    for (const std::string& name : row.members) {
      const bool label = name.ends_with("cls") || name.ends_with("Cls");
      members.emplace_back(name, label ? "0" : name.ends_with('/') ? "" : name);
    }
    members.push_back({"last.jpg", "last.jpg"});  // there is always a sample
    members.push_back({"last.cls", "0"});
    const Shards shards(Dataset{members});
    Names found;
    const SplitListing& split = shards.listing.splits[0];
    for (std::size_t i = 0; i + 1 < split.entries.size(); ++i) {
      const Names bytes = shards.extras(i);
      const std::string path = split.entries[i].path.substr(std::string("s0.tar/").size());
      CHECK((bytes[0] == path || bytes[0] == "./" + path));
      std::string sample = path;
      for (std::size_t f = 1; f < bytes.size(); ++f)
        sample += " " + bytes[f].substr(0, bytes[f].find(':'));
      found.push_back(sample);
    }
    for (const Reject& reject : split.rejects) found.push_back("!" + reject.path.substr(7));
    std::sort(found.begin(), found.end());
    CHECK(found == row.samples);
    CHECK(split.skips.size() == row.skipped);
  }
}

TEST_CASE("source webdataset: keys with dots are read where only one reading loses nothing") {
  struct Row {
    Members members;
    Names samples;  ///< "path=class"; empty: refused
  };
  const std::string picture = tiny_image(1);
  const Members many = {{"v1.00.jpg", picture}, {"v1.00.cls", "0"},     {"v1.01.jpg", picture},
                        {"v1.01.cls", "1"},     {"v1.02.jpg", picture}, {"v1.02.cls", "1"}};
  const Members sorted = {
      {"v1.00.cls", "0"}, {"v1.01.cls", "1"}, {"v1.00.jpg", picture}, {"v1.01.jpg", picture}};
  for (const Row& row : std::vector<Row>{
           {many, {"v1.00.jpg=0", "v1.01.jpg=1", "v1.02.jpg=1"}},
           {sorted, {"v1.00.jpg=0", "v1.01.jpg=1"}},
           {{{"x.2.jpg", picture}, {"x.2.cls", "1"}}, {"x.2.jpg=1"}},
           {{{"x.2.jpg", picture}, {"x.2.json", R"({"label": 1})"}}, {"x.2.jpg=1"}},
           {{{"x.jpg", picture}, {"x.cls", "0"}, {"x.2.jpg", picture}, {"x.2.cls", "1"}},
            {"x.jpg=0", "x.2.jpg=1"}},
           {{{"x.jpg", picture}, {"x.cls", "0"}, {"x.seg.png", picture}}, {"x.jpg=0"}},
           {{{"x.jpg", picture}, {"x.cls", "0"}, {"x.seg.png", picture}, {"x.seg.json", "{}"}},
            {"x.jpg=0"}},
           {{{"x.left.jpg", picture}, {"x.right.jpg", picture}, {"x.cls", "0"}}, {}},
           {{{"v1.00.jpg", picture}, {"v1.01.jpg", picture}}, {}},
           {{{"x.jpg", picture}, {"x.2.cls", "1"}}, {}},
           {{{"x.jpg", picture}, {"x.json", "{}"}, {"x.2.jpg", picture}, {"x.2.json", "{}"}},
            {}}}) {
    CAPTURE(row.members.front().first);
    Names found;
    try {
      const Shards shards(Dataset{row.members});
      found = entries(shards.listing.splits.at(0));
      CHECK(rejects(shards.listing.splits.at(0)).empty());
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kUsage);
      for (const auto& [name, dot] :
           {std::pair("last", KeyDot::kLast), {"first", KeyDot::kFirst}}) {
        if (error.advice().find(std::string("--key-dot ") + name) == std::string::npos) continue;
        ListOptions options;
        options.fields.key_dot = dot;
        const Shards advised(Dataset{row.members}, options);  // what is advised packs all
        CHECK(advised.listing.splits.at(0).entries.size() > 0);
        CHECK(rejects(advised.listing.splits.at(0)).empty());
      }
    }
    for (std::string& name : found) name.erase(0, std::string("s0.tar/").size());
    CHECK(found == row.samples);
  }
}

TEST_CASE("source webdataset: --key-dot decides, and both of its readings work") {
  const std::string left = tiny_image(1), right = tiny_image(2);
  const Dataset stereo = {{{"x.left.jpg", left}, {"x.right.jpg", right}, {"x.txt", "t"}}};
  ListOptions options;
  options.fields.key_dot = KeyDot::kFirst;
  CHECK(Shards(stereo, options).extras(0) == Names{left, "right.jpg:" + right, "txt:t"});
  options.fields.key_dot = KeyDot::kLast;
  const Shards last(stereo, options);
  CHECK(entries(last.listing.splits.at(0)) == Names{"s0.tar/x.left.jpg=0", "s0.tar/x.right.jpg=0"});
  CHECK(rejects(last.listing.splits.at(0)) == Names{"s0.tar/x.txt: no image among its members"});
}

TEST_CASE("source webdataset: classes that differ in letter case alone are refused") {
  const Dataset both = {{{"a.jpg", "x"}, {"a.cls", "cat"}, {"b.jpg", "x"}, {"b.cls", "Cat"}}};
  CHECK(kind_of_error([&] { const Shards shards(both); }) == ErrorKind::kUsage);
}

TEST_CASE("source webdataset: a choice of fields narrows them") {
  const Dataset one = {{{"a.txt", "t"}, {"a.jpg", "i"}, {"a.cls", "0"}, {"a.json", "{}"}}};
  ListOptions options;
  options.fields.names = Names{"txt"};
  CHECK(Shards(one, options).extras(0) == Names{"i", "txt:t"});
  options.fields.names = Names{};
  CHECK(Shards(one, options).extras(0) == Names{"i"});
}

TEST_CASE("source webdataset: without an image's extension the bytes decide") {
  const std::string image = tiny_image(1);
  const Shards shards(Dataset{{{"a.cls", "0"}, {"a.bin", "text"}, {"a.input", image}}});
  CHECK(shards.extras(0) == Names{image, "bin:text"});
}

TEST_CASE("source webdataset: the label in .json counts when there is no .cls") {
  const Shards shards(Dataset{{{"a.jpg", "x"},
                               {"a.json", R"({"label": 2})"},
                               {"a.cls", "1"},
                               {"b.json", R"({"cls": 0})"},
                               {"b.jpg", "x"},
                               {"c.jpg", "x"},
                               {"c.json", R"({"label": 1.5})"},
                               {"d.jpg", "x"},
                               {"d.json", "{"},
                               {"e.jpg", "x"},
                               {"e.json", "{}"}}});
  CHECK(entries(shards.listing.splits.at(0)) == Names{"s0.tar/a.jpg=1", "s0.tar/b.jpg=0"});
  CHECK(rejects(shards.listing.splits.at(0)) ==
        Names{"s0.tar/c.jpg: the label in its .json is neither a whole number nor text",
              "s0.tar/d.jpg: its .json is no JSON", "s0.tar/e.jpg: it has no label"});
}

TEST_CASE("source webdataset: numbers and names side by side need a class list") {
  const Dataset mixed = {{{"a.jpg", "x"}, {"a.cls", "1"}, {"b.jpg", "x"}, {"b.cls", "cat"}}};
  CHECK(kind_of_error([&] { const Shards shards(mixed); }) == ErrorKind::kUsage);
  ListOptions options;
  options.classes = {"cat", "dog"};
  CHECK(entries(Shards(mixed, options).listing.splits.at(0)) ==
        Names{"s0.tar/a.jpg=1", "s0.tar/b.jpg=0"});
}

TEST_CASE("source webdataset: one number far off is a reject, not a million classes") {
  const Shards shards(
      Dataset{{{"a.jpg", "x"}, {"a.cls", "1"}, {"b.jpg", "x"}, {"b.cls", "99999999999"}}});
  CHECK(shards.listing.classes == Names{"0", "1"});
  CHECK(rejects(shards.listing.splits.at(0)) ==
        Names{"s0.tar/b.jpg: its label '99999999999' is none of the 2 classes"});
}

TEST_CASE("source webdataset: without any label there is one class, and a note about it") {
  const Shards shards(Dataset{{{"a.jpg", "x"}, {"a.txt", "t"}}});
  CHECK(shards.listing.classes == Names{"unlabelled"});
  CHECK(entries(shards.listing.splits.at(0)) == Names{"s0.tar/a.jpg=0"});
  CHECK(shards.listing.notes.size() == 1);
}

TEST_CASE("source webdataset: 32 different fields are the most") {
  Members members = {{"a.jpg", "x"}, {"a.cls", "0"}};
  for (int i = 0; i < 32; ++i) members.push_back({"a.f" + std::to_string(i), "x"});
  CHECK(Shards(Dataset{members}).listing.fields.size() == 32);
  members.push_back({"a.f32", "x"});
  CHECK(kind_of_error([&] { const Shards shards(Dataset{members}); }) == ErrorKind::kUsage);
}

TEST_CASE("source webdataset: shards are told from class folders by their first members") {
  CHECK(look({{"1.jpg", "x"}, {"1.cls", "0"}}) == Look::kSamples);
  CHECK(look({{"1.json", "x"}, {"1.jpg", "0"}}) == Look::kSamples);
  CHECK(look({{"sub/1.cls", "0"}, {"sub/1.jpg", "x"}}) == Look::kSamples);
  CHECK(look({{"a/1.jpg", "x"}, {"a/2.jpg", "x"}, {"README.md", "x"}}) == Look::kClassFolders);
  CHECK(look({{"a.tar", "x"}}) == Look::kClassFolders);
  CHECK(look({{"1.jpg", "x"}, {"2.jpg", "x"}}) == Look::kBareImages);
  CHECK(look({{"a/1.jpg", "x"}, {"a/1.json", "x"}}) == Look::kUnclear);
}

TEST_CASE("shard names: braces stand for ranges and lists, others stay") {
  CHECK(expand_braces("a{008..011}.tar") == Names{"a008.tar", "a009.tar", "a010.tar", "a011.tar"});
  CHECK(expand_braces("{x,yy}-{1..2}") == Names{"x-1", "x-2", "yy-1", "yy-2"});
  CHECK(expand_braces("{2..0}") == Names{"2", "1", "0"});
  CHECK(expand_braces("a{b}c{") == Names{"a{b}c{"});
  CHECK(expand_braces("plain") == Names{"plain"});
  CHECK(kind_of_error([] { expand_braces("{0..9999999}"); }) == ErrorKind::kUsage);
  CHECK(kind_of_error([] { expand_braces("{0..99999}{0..99999}"); }) == ErrorKind::kUsage);
}

TEST_CASE("shard names: a folder of several sets of shards is refused") {
  const TemporaryDirectory root;
  put(root / "train-0.tar", "x");
  put(root / "train-1.tar", "x");
  put(root / "train-1.json", "x");
  CHECK(find_shards(root.path()).size() == 2);
  put(root / "val-0.tar", "x");
  CHECK(kind_of_error([&] { find_shards(root.path()); }) == ErrorKind::kUsage);
  CHECK(find_shards(root / "train-[0-9]*.tar").size() == 2);
}

}  // namespace packhorse
