#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "listings.h"
#include "support/support.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::put;
using test::TemporaryDirectory;
using test::tiny_image;
using Rules = std::map<std::string, std::uint64_t>;

const std::string kHidden = "hidden (its name starts with a dot)";
const std::string kNotAnImage = "not an image, by name and first bytes";
const std::string kNotRegular = "not a regular file";
const std::string kLoop = "a link to a folder above it";

Listing list_folder(const fs::path& root, const Names& classes = {}) {
  ListOptions options;
  options.classes = classes;
  return open_source(root)->list(options);
}

/// Two classes of one image each.
void two_classes(const fs::path& root) {
  put(root / "a" / "1.pgm", tiny_image(1));
  put(root / "b" / "2.pgm", tiny_image(2));
}

}  // namespace

TEST_CASE("source folder: classes are the folders in byte order, entries in path order") {
  const TemporaryDirectory root;
  put(root / "b" / "2.jpg", "x");
  put(root / "a" / "z.png", "x");
  put(root / "a" / "B.png", "x");
  put(root / "Z" / "1.bmp", "x");
  const Listing listing = list_folder(root.path());
  CHECK(listing.classes == Names{"Z", "a", "b"});
  REQUIRE(listing.splits.size() == 1);
  CHECK(listing.splits[0].split.empty());
  CHECK(entries(listing.splits[0]) == Names{"Z/1.bmp=0", "a/B.png=1", "a/z.png=1", "b/2.jpg=2"});
  CHECK(listing.seen() == 4);
}

TEST_CASE("source folder: entries know size and time, and are read whole") {
  const TemporaryDirectory root;
  put(root / "a" / "1.pgm", "hello");
  const auto source = open_source(root.path());
  const Listing listing = source->list({});
  Input input;
  input.bytes.resize(99);
  source->read(listing.splits[0], 0, input);
  CHECK(as_text(input.bytes) == "hello");
  CHECK(listing.splits[0].entries[0].size == 5);
  CHECK(listing.splits[0].entries[0].stamp > 0);
}

TEST_CASE("source folder: nested folders belong to the class above them") {
  const TemporaryDirectory root;
  put(root / "a" / "x" / "y" / "1.jpg", "x");
  put(root / "a" / "x.jpg", "x");
  put(root / "a" / "x" / "2.jpg", "x");
  CHECK(entries(list_folder(root.path()).splits[0]) ==
        Names{"a/x.jpg=0", "a/x/2.jpg=0", "a/x/y/1.jpg=0"});
}

TEST_CASE("source folder: hidden files and folders are skipped, at any depth") {
  const TemporaryDirectory root;
  two_classes(root.path());
  put(root / ".DS_Store", "x");
  put(root / ".git" / "1.jpg", "x");
  put(root / "a" / ".1.jpg", "x");
  put(root / "a" / ".thumbnails" / "1.jpg", "x");
  const Listing listing = list_folder(root.path());
  CHECK(listing.classes == Names{"a", "b"});
  CHECK(count_by_rule(listing.splits[0].skips) == Rules{{kHidden, 4}});
  CHECK(listing.seen() == 2 + 4);
}

TEST_CASE("source folder: other files are skipped, unless their first bytes are an image's") {
  const TemporaryDirectory root;
  two_classes(root.path());
  put(root / "a" / "notes.txt", "hello");
  put(root / "a" / "empty", "");
  put(root / "a" / "picture", tiny_image(3));
  put(root / "a" / "picture.dat", "\xff\xd8\xff\xe0 and so on");
  const Listing listing = list_folder(root.path());
  CHECK(entries(listing.splits[0]) ==
        Names{"a/1.pgm=0", "a/picture=0", "a/picture.dat=0", "b/2.pgm=1"});
  CHECK(count_by_rule(listing.splits[0].skips) == Rules{{kNotAnImage, 2}});
}

TEST_CASE(
    "source folder: a file with an image's name is taken, whatever is in it and in any case") {
  const TemporaryDirectory root;
  for (const char* name : {"1.JPG", "2.jpeg", "3.jpe", "4.jfif", "5.Png", "6.webp", "7.bmp",
                           "8.tif", "9.TIFF", "a.ppm", "b.pgm", "c.pnm"}) {
    put(root / "c" / name, "text");
  }
  CHECK(list_folder(root.path()).splits[0].entries.size() == 12);
}

TEST_CASE("source folder: links to files and folders are followed") {
  const TemporaryDirectory root, elsewhere;
  two_classes(root.path());
  put(elsewhere / "3.pgm", tiny_image(3));
  fs::create_symlink(elsewhere / "3.pgm", root / "a" / "link.pgm");
  fs::create_symlink(elsewhere.path(), root / "c");
  CHECK(entries(list_folder(root.path()).splits[0]) ==
        Names{"a/1.pgm=0", "a/link.pgm=0", "b/2.pgm=1", "c/3.pgm=2"});
}

TEST_CASE("source folder: a link to a folder above it is skipped") {
  const TemporaryDirectory root;
  two_classes(root.path());
  fs::create_symlink(".", root / "a" / "self");
  fs::create_directory(root / "a" / "deeper");
  fs::create_symlink("..", root / "a" / "deeper" / "up");
  const Listing listing = list_folder(root.path());
  CHECK(entries(listing.splits[0]) == Names{"a/1.pgm=0", "b/2.pgm=1"});
  CHECK(count_by_rule(listing.splits[0].skips) == Rules{{kLoop, 2}});
}

TEST_CASE("source folder: a link to the source itself gives no image a second label") {
  const TemporaryDirectory root;
  two_classes(root.path());
  fs::create_symlink("..", root / "a" / "root");
  const Listing listing = list_folder(root.path());
  CHECK(entries(listing.splits[0]) == Names{"a/1.pgm=0", "b/2.pgm=1"});
  CHECK(count_by_rule(listing.splits[0].skips) == Rules{{kLoop, 1}});
}

TEST_CASE("source folder: a link to a folder above the source is skipped") {
  const TemporaryDirectory root;
  put(root / "private" / "1.pgm", tiny_image(9));
  two_classes(root / "up" / "source");
  fs::create_symlink("../../..", root / "up" / "source" / "a" / "link");
  fs::create_symlink("..", root / "up" / "source" / "c");
  const Listing listing = list_folder(root / "up" / "source");
  CHECK(listing.classes == Names{"a", "b"});
  CHECK(entries(listing.splits[0]) == Names{"a/1.pgm=0", "b/2.pgm=1"});
  CHECK(count_by_rule(listing.splits[0].skips) == Rules{{kLoop, 2}});
}

TEST_CASE(
    "source folder: a link from a split to the source gives no image a second label or split") {
  const TemporaryDirectory root;
  two_classes(root / "train");
  two_classes(root / "val");
  fs::create_symlink("../..", root / "train" / "a" / "root");
  fs::create_symlink("..", root / "val" / "b" / "split");
  const Listing listing = list_folder(root.path());
  for (const SplitListing& split : listing.splits) {
    CHECK(entries(split) == Names{"a/1.pgm=0", "b/2.pgm=1"});
    CHECK(count_by_rule(split.skips) == Rules{{kLoop, 1}});
  }
}

TEST_CASE("source folder: a link that leads nowhere is a reject when it has an image's name") {
  const TemporaryDirectory root;
  two_classes(root.path());
  fs::create_symlink("nowhere", root / "a" / "x.jpg");
  fs::create_symlink("nowhere", root / "a" / "x");
  fs::create_symlink("loop.jpg", root / "a" / "loop.jpg");
  const Listing listing = list_folder(root.path());
  CHECK(sorted(rejects(listing.splits[0])) ==
        Names{"a/loop.jpg: a link that leads nowhere", "a/x.jpg: a link that leads nowhere"});
  CHECK(count_by_rule(listing.splits[0].skips) == Rules{{"a link that leads nowhere", 1}});
  CHECK(listing.seen() == 5);
}

TEST_CASE("source folder: a FIFO is skipped and never waited on") {
  const TemporaryDirectory root;
  two_classes(root.path());
  REQUIRE(::mkfifo((root / "a" / "fifo.jpg").c_str(), 0600) == 0);
  REQUIRE(::mkfifo((root / "b" / "fifo").c_str(), 0600) == 0);
  CHECK(count_by_rule(list_folder(root.path()).splits[0].skips) == Rules{{kNotRegular, 2}});
}

TEST_CASE(
    "source folder: an image outside every class folder is a reject, other files are skipped") {
  const TemporaryDirectory root;
  two_classes(root.path());
  put(root / "stray.jpg", "x");
  put(root / "README.md", "x");
  const Listing listing = list_folder(root.path());
  CHECK(sorted(rejects(listing.splits[0])) == Names{"stray.jpg: not in a class folder"});
  CHECK(count_by_rule(listing.splits[0].skips) == Rules{{kNotAnImage, 1}});
}

TEST_CASE("source folder: names may be of any bytes") {
  const TemporaryDirectory root;
  const Names names = {"a.JPG", "a.jpg", "line\nbreak.jpg", std::string(251, 'n') + ".jpg",
                       "\xff\xfe.jpg"};
  for (const std::string& name : names) put(root / "c\xff" / name, "x");
  const auto source = open_source(root.path());
  const Listing listing = source->list({});
  CHECK(listing.classes == Names{"c\xff"});
  REQUIRE(listing.splits[0].entries.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(listing.splits[0].entries[i].path == "c\xff/" + names[i]);
    Input input;
    source->read(listing.splits[0], i, input);
    CHECK(as_text(input.bytes) == "x");
  }
}

TEST_CASE("source folder: an empty class keeps its label") {
  const TemporaryDirectory root;
  two_classes(root.path());
  fs::create_directory(root / "aa");
  const Listing listing = list_folder(root.path());
  CHECK(listing.classes == Names{"a", "aa", "b"});
  CHECK(entries(listing.splits[0]) == Names{"a/1.pgm=0", "b/2.pgm=2"});
}

TEST_CASE(
    "source folder: train beside other split names makes splits, which share one class list") {
  const TemporaryDirectory root;
  two_classes(root / "train");
  put(root / "val" / "c" / "3.pgm", tiny_image(3));
  put(root / "README.md", "x");
  put(root / ".hidden", "x");
  const Listing listing = list_folder(root.path());
  CHECK(listing.classes == Names{"a", "b", "c"});
  REQUIRE(listing.splits.size() == 2);
  CHECK(listing.splits[0].split == "train");
  CHECK(entries(listing.splits[0]) == Names{"a/1.pgm=0", "b/2.pgm=1"});
  CHECK(listing.splits[1].split == "val");
  CHECK(entries(listing.splits[1]) == Names{"c/3.pgm=2"});
  CHECK(count_by_rule(listing.skips) == Rules{{"outside the split folders", 1}, {kHidden, 1}});
  CHECK(listing.seen() == 5);
}

TEST_CASE("source folder: train alone is a split") {
  const TemporaryDirectory root;
  two_classes(root / "train");
  CHECK(list_folder(root.path()).splits[0].split == "train");
  CHECK(list_folder(root.path()).classes == Names{"a", "b"});
}

TEST_CASE("source folder: images right in folders named like splits make these doubtful classes") {
  const TemporaryDirectory flat, others;
  put(flat / "val" / "1.pgm", tiny_image(1));
  put(flat / "test" / "1.pgm", tiny_image(1));
  put(others / "train" / "1.pgm", tiny_image(1));
  put(others / "plane" / "1.pgm", tiny_image(1));
  for (const auto& [root, classes] : {std::pair(flat.path(), Names{"test", "val"}),
                                      std::pair(others.path(), Names{"plane", "train"})}) {
    const Listing listing = list_folder(root);
    CHECK(listing.classes == classes);
    CHECK(listing.splits.size() == 1);
    CHECK(listing.doubts.front().kind == Doubt::Kind::kLayout);
  }
}

TEST_CASE("source folder: empty classes and one alone are doubtful, unless a list names them") {
  const TemporaryDirectory root;
  put(root / "a" / "1.pgm", tiny_image(1));
  CHECK(list_folder(root.path()).doubts.back().kind == Doubt::Kind::kOneClass);
  fs::create_directory(root / "b");
  CHECK(list_folder(root.path()).doubts.back().kind == Doubt::Kind::kEmptyClass);
  CHECK(list_folder(root.path(), {"a", "b"}).doubts.empty());
  put(root / "b" / "broken.pgm", "");
  CHECK(list_folder(root.path()).doubts.empty());
}

TEST_CASE("source folder: a given class list pins the labels") {
  const TemporaryDirectory root;
  two_classes(root.path());
  const Listing listing = list_folder(root.path(), {"b", "unused", "a"});
  CHECK(listing.classes == Names{"b", "unused", "a"});
  CHECK(entries(listing.splits[0]) == Names{"a/1.pgm=2", "b/2.pgm=0"});
}

TEST_CASE("source folder: a class that is not in the given list is refused") {
  const TemporaryDirectory root;
  two_classes(root.path());
  CHECK(kind_of_error([&] { list_folder(root.path(), {"a"}); }) == ErrorKind::kUsage);
}

TEST_CASE("source folder: a source without an image, or that is none, is an Error") {
  const TemporaryDirectory root;
  CHECK(kind_of_error([&] { list_folder(root.path()); }) == ErrorKind::kNotFound);
  put(root / "a" / "notes.txt", "x");
  CHECK(kind_of_error([&] { list_folder(root.path()); }) == ErrorKind::kNotFound);
  CHECK(kind_of_error([&] { list_folder(root / "no"); }) == ErrorKind::kNotFound);
  CHECK(kind_of_error([&] { list_folder(root / "a" / "notes.txt"); }) == ErrorKind::kUnsupported);
}

TEST_CASE("source folder: a file that is gone or has another size when it is read is an Error") {
  const TemporaryDirectory root;
  two_classes(root.path());
  const auto source = open_source(root.path());
  const Listing listing = source->list({});
  Input input;
  fs::remove(root / "a" / "1.pgm");
  CHECK(kind_of_error([&] { source->read(listing.splits[0], 0, input); }) == ErrorKind::kNotFound);
  put(root / "b" / "2.pgm", "other");
  CHECK(kind_of_error([&] { source->read(listing.splits[0], 1, input); }) == ErrorKind::kIo);
}

TEST_CASE("source folder: a FIFO put in a file's place is not waited on") {
  const TemporaryDirectory root;
  two_classes(root.path());
  const auto source = open_source(root.path());
  const Listing listing = source->list({});
  fs::remove(root / "a" / "1.pgm");
  REQUIRE(::mkfifo((root / "a" / "1.pgm").c_str(), 0600) == 0);
  Input input;
  CHECK(kind_of_error([&] { source->read(listing.splits[0], 0, input); }) == ErrorKind::kIo);
}

TEST_CASE("source folder: an unreadable class folder is a reject, an unreadable file an entry" *
          doctest::skip(::geteuid() == 0)) {
  const TemporaryDirectory root;
  two_classes(root.path());
  put(root / "b" / "noname", tiny_image(3));
  fs::permissions(root / "a", fs::perms::none);
  fs::permissions(root / "b" / "noname", fs::perms::none);
  const Listing listing = list_folder(root.path());
  fs::permissions(root / "a", fs::perms::owner_all);
  CHECK(sorted(rejects(listing.splits[0])) == Names{"a: unreadable folder: Permission denied"});
  CHECK(entries(listing.splits[0]) == Names{"b/2.pgm=1", "b/noname=1"});
}

}  // namespace packhorse
