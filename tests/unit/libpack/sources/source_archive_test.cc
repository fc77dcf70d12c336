#include "listings.h"
#include "sources/archive/archive_contents.h"
#include "support/support.h"
#include "unit/libpack/archive/tiny_tar.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::put;
using test::tar_end;
using test::tar_member;
using test::tar_of;
using test::TemporaryDirectory;
using test::tiny_image;

const std::string kImage = tiny_image(1);

Listing list_archive(const fs::path& path, const ListOptions& options = {}) {
  return open_source(path, "archive")->list(options);
}

Names extras(const Input& input) {
  Names all;
  for (std::size_t i = 0; i < input.fields; ++i) {
    all.push_back(std::to_string(input.extras[i].field) + ":" +
                  std::string(as_text(input.extras[i].bytes)));
  }
  return all;
}

Listing list_of(const std::vector<std::pair<std::string, std::string>>& members,
                const ListOptions& options = {}) {
  const TemporaryDirectory root;
  put(root / "a.tar", tar_of(members));
  return list_archive(root / "a.tar", options);
}

}  // namespace

TEST_CASE("source archive: classes and entries are those of the same folder on disk") {
  const Listing listing = list_of({{"b/2.jpg", "x"}, {"a/z.png", "x"}, {"./a/y/B.png", "x"}});
  CHECK(listing.classes == Names{"a", "b"});
  REQUIRE(listing.splits.size() == 1);
  CHECK(entries(listing.splits[0]) == Names{"a/y/B.png=0", "a/z.png=0", "b/2.jpg=1"});
}

TEST_CASE("source archive: reads the bytes of each entry") {
  const TemporaryDirectory root;
  put(root / "a.tar", tar_of({{"b/1.jpg", "first"}, {"a/2.jpg", ""}, {"a/1.jpg", "third"}}));
  const auto source = open_source(root / "a.tar");
  const Listing listing = source->list({});
  Input input;
  Names contents;
  for (std::size_t i = 0; i < 3; ++i) {
    source->read(listing.splits[0], i, input);
    contents.emplace_back(as_text(input.bytes));
  }
  CHECK(contents == Names{"third", "", "first"});
}

TEST_CASE("source archive: a hard link to nothing is rejected, also that of a NumPy file") {
  const TemporaryDirectory root;
  put(root / "a.tar", tar_member("a/1.npy", "x") + tar_member("a/2.npy", "", '1', "b/none.npy") +
                          tar_member("b/3.npy", "x") + tar_end());
  CHECK(rejects(list_archive(root / "a.tar").splits[0]) ==
        Names{"a/2.npy: a hard link to 'b/none.npy', and no image of that path comes before it in "
              "the archive"});
}

TEST_CASE("source archive: keeps no NumPy file behind another image") {
  const TemporaryDirectory root;
  put(root / "a.tar", tar_of({{"a/1.jpg", "x"}, {"a/1.npy", "x"}, {"b/2.npy", "x"}}));
  const auto kept = [&](const Names& excluded) {
    const FieldSet fields({}, root / "a.tar");
    Payloads payloads(root.path());
    static_cast<void>(read_contents(payloads, payloads.add_file(root / "a.tar"), root / "a.tar",
                                    fields, excluded));
    return payloads.size();
  };
  CHECK(kept({}) == 1);
  CHECK(kept({"*.jpg"}) == 3);
  ListOptions options;
  CHECK(entries(list_archive(root / "a.tar", options).splits[0]) == Names{"a/1.jpg=0"});
  options.exclude = {"*.jpg"};
  CHECK(entries(list_archive(root / "a.tar", options).splits[0]) ==
        Names{"a/1.npy=0", "b/2.npy=1"});
}

TEST_CASE(
    "source archive: fields of less than 4 GiB together are taken, and larger ones a reject") {
  constexpr std::uint64_t kHalf = std::uint64_t{2} << 30;
  const TemporaryDirectory root;
  const auto list = [&](std::uint64_t last) {
    test::put_tar_with_holes(
        root / "a.tar",
        {{"c/1.jpg", kImage}, {"c/2.jpg", kImage}, {"c/2.a", "x"}, {"c/2.b", "x"}, {"c/2.c", "x"}},
        {{"c/1.a", kHalf - 10}, {"c/1.b", kHalf}, {"c/1.c", last}});
    return list_archive(root / "a.tar", with_fields({"a", "b", "c"})).splits.at(0);
  };
  const SplitListing most = list(9);
  REQUIRE(most.entries.size() == 2);
  CHECK(most.entries[0].field_bytes == 0xffffffff);
  const SplitListing more = list(10);
  CHECK(entries(more) == Names{"c/2.jpg=0"});
  CHECK(rejects(more) == Names{"c/1.jpg: its extra fields have more than 4 GiB together"});
  CHECK(more.skips.empty());
}

TEST_CASE("source archive: one folder around everything is taken off") {
  CHECK(entries(list_of({{"all/a/1.jpg", "x"}, {"all/b/2.jpg", "x"}, {"README", "x"}}).splits[0]) ==
        Names{"a/1.jpg=0", "b/2.jpg=1"});
  const Listing splits = list_of({{"all/train/a/1.jpg", "x"}, {"all/val/a/2.jpg", "x"}});
  REQUIRE(splits.splits.size() == 2);
  CHECK(entries(splits.splits[1]) == Names{"a/2.jpg=0"});
}

TEST_CASE("source archive: a folder that holds an image itself is a class, and stays") {
  CHECK(entries(list_of({{"cat/1.jpg", "x"}, {"cat/more/2.jpg", "x"}}).splits[0]) ==
        Names{"cat/1.jpg=0", "cat/more/2.jpg=0"});
  CHECK(list_of({{"a/x/1.jpg", "x"}, {"b/x/1.jpg", "x"}}).classes == Names{"a", "b"});
}

TEST_CASE("source archive: splits are told as in a folder") {
  const Listing listing =
      list_of({{"train/a/1.jpg", "x"}, {"val/b/2.jpg", "x"}, {"x.txt", "x"}, {"val/3.jpg", "x"}});
  REQUIRE(listing.splits.size() == 2);
  CHECK(listing.splits[0].split == "train");
  CHECK(listing.classes == Names{"a", "b"});
  CHECK(rejects(listing.splits[1]) == Names{"3.jpg: not in a class folder"});
  REQUIRE(listing.skips.size() == 1);
  CHECK(listing.skips[0].rule == "outside the split folders");
}

TEST_CASE("source archive: folders without an image are classes too, unless hidden") {
  const TemporaryDirectory root;
  put(root / "a.tar", tar_member("empty/", "", '5') + tar_member(".git/", "", '5') +
                          tar_member("a/1.jpg", "x") + tar_end());
  CHECK(list_archive(root / "a.tar").classes == Names{"a", "empty"});
}

TEST_CASE("source archive: a class list pins labels, and names every class") {
  ListOptions options;
  options.classes = {"b", "a"};
  CHECK(entries(list_of({{"a/1.jpg", "x"}}, options).splits[0]) == Names{"a/1.jpg=1"});
  CHECK(kind_of_error([&] { list_of({{"c/1.jpg", "x"}}, options); }) == ErrorKind::kUsage);
}

TEST_CASE("source archive: a file without an image's name is looked into") {
  const Listing listing = list_of({{"a/picture", kImage}, {"a/notes", "hello"}});
  CHECK(entries(listing.splits[0]) == Names{"a/picture=0"});
  CHECK(listing.seen() == 2);
}

TEST_CASE("source archive: companions of an image are its fields, when they are asked for") {
  const TemporaryDirectory root;
  put(root / "a.tar", tar_of({{"a/1.json", "j1"},
                              {"a/1.jpg", "x"},
                              {"a/2.jpg", "y"},
                              {"a/2.seg.png", "mask"},
                              {"a/2.json", "j2"},
                              {"a/lone.json", "j"},
                              {"a/lone.seg.png", "z"}}));
  const auto source = open_source(root / "a.tar", "archive");
  const Listing listing = source->list(with_fields({"seg.png", "json"}));
  CHECK(listing.fields == Names{"json", "seg.png"});
  const SplitListing& split = listing.splits[0];
  CHECK(entries(split) == Names{"a/1.jpg=0", "a/2.jpg=0"});
  CHECK(split.entries[0].fields == 1);
  CHECK(split.entries[1].fields == 3);
  CHECK(split.entries[1].field_bytes == 6);
  CHECK(count_by_rule(split.skips).at("a field without its image") == 2);
  CHECK(listing.seen() == 4);
  Input input;
  source->read(split, 1, input);
  CHECK(extras(input) == Names{"0:j2", "1:mask"});
}

TEST_CASE("source archive: without a choice there are no fields") {
  const Listing listing = list_of({{"a/1.json", "j"}, {"a/1.jpg", "x"}});
  CHECK(listing.fields.empty());
  CHECK(listing.splits[0].skips.size() == 1);
}

TEST_CASE("source archive: inner archives are folders named without their suffix") {
  const std::string inner = tar_of({{"1.jpg", "one"}, {"deep/2.jpg", "two"}});
  const TemporaryDirectory root;
  put(root / "a.tar", tar_of({{"n01.tar", inner}, {"n02.tar", inner}}));
  const auto source = open_source(root / "a.tar");
  const Listing listing = source->list({});
  CHECK(entries(listing.splits[0]) ==
        Names{"n01/1.jpg=0", "n01/deep/2.jpg=0", "n02/1.jpg=1", "n02/deep/2.jpg=1"});
  Input input;
  source->read(listing.splits[0], 3, input);
  CHECK(as_text(input.bytes) == "two");
}

TEST_CASE("source archive: a long GNU name and a pax name are taken byte for byte") {
  const std::string name = "a/" + std::string(150, 'n') + "\xff.jpg";
  const std::string record = " path=a/e\xcc\x81\xfe.jpg\n";
  const TemporaryDirectory root;
  put(root / "a.tar", tar_member("././@LongLink", name + '\0', 'L') + tar_member("a/cut", "x") +
                          tar_member("PaxHeader", std::to_string(record.size() + 2) + record, 'x') +
                          tar_member("a/other.jpg", "x") + tar_end());
  CHECK(entries(list_archive(root / "a.tar").splits[0]) ==
        Names{"a/e\xcc\x81\xfe.jpg=0", name + "=0"});
}

TEST_CASE("source archive: a pax header that does not fit together is damage") {
  const TemporaryDirectory root;
  put(root / "a.tar",
      tar_member("PaxHeader", "99 path=a/1.jpg\n", 'x') + tar_member("a/2.jpg", "x") + tar_end());
  CHECK(kind_of_error([&] { list_archive(root / "a.tar"); }) == ErrorKind::kCorrupt);
}

TEST_CASE("source archive: a tar that ends anywhere but behind its end mark is damaged") {
  const TemporaryDirectory root;
  const std::string tar = tar_of({{"a/1.jpg", std::string(700, 'x')}, {"a/2.jpg", "y"}});
  for (std::size_t size = 0; size <= tar.size() - 1024; size += 256) {
    put(root / "a.tar", tar.substr(0, size));
    CAPTURE(size);
    CHECK(kind_of_error([&] { list_archive(root / "a.tar"); }) == ErrorKind::kCorrupt);
  }
  put(root / "a.tar", tar.substr(0, tar.size() - 512));
  CHECK(entries(list_archive(root / "a.tar").splits[0]).size() == 2);
}

TEST_CASE("source archive: damage is reported with the last good member") {
  const TemporaryDirectory root;
  std::string tar = tar_of({{"a/1.jpg", "x"}, {"a/2.jpg", "y"}});
  tar[1024 + 5] ^= 1;
  put(root / "a.tar", tar);
  try {
    list_archive(root / "a.tar");
    FAIL("no Error was thrown");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("after 'a/1.jpg'") != std::string::npos);
    CHECK(error.path() == root / "a.tar");
  }
}

TEST_CASE("source archive: one that changes after it was listed is not read") {
  const TemporaryDirectory root;
  put(root / "a.tar", tar_of({{"a/1.jpg", "x"}, {"a/2.jpg", "y"}}));
  const auto source = open_source(root / "a.tar");
  const Listing listing = source->list({});
  put(root / "a.tar", tar_of({{"a/1.jpg", "x"}, {"a/2.jpg", "y"}, {"a/3.jpg", "z"}}));
  Input input;
  CHECK(kind_of_error([&] { source->read(listing.splits[0], 0, input); }) == ErrorKind::kIo);
}

TEST_CASE("source archive: an archive of nothing holds no images") {
  const TemporaryDirectory root;
  put(root / "a.tar", tar_end());
  CHECK(kind_of_error([&] { list_archive(root / "a.tar"); }) == ErrorKind::kNotFound);
}

}  // namespace packhorse
