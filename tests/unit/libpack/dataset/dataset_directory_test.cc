#include "dataset/dataset_directory.h"

#include <sys/stat.h>

#include "base/hash.h"
#include "support/support.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::put;
using test::TemporaryDirectory;
using Links = DatasetDirectory::Links;

/// A dataset's directory beside somebody else's directory, and links between the two.
struct Place {
  TemporaryDirectory directory;
  Place() {
    put(directory / "set/a", "a");
    put(directory / "set/below/b", "b");
    put(directory / "other/c", "c");
    fs::create_symlink("../other/c", directory / "set/link");
    fs::create_symlink("a", directory / "set/link-inside");
    fs::create_symlink("../other", directory / "set/folder");
    ::mkfifo((directory / "set/pipe").c_str(), 0600);
  }
  DatasetDirectory set() const { return DatasetDirectory(directory / "set"); }
  ErrorKind refusal(const std::string& name, Links links = Links::kNone) const {
    return kind_of_error([&] { static_cast<void>(set().open(name, links)); });
  }
};

}  // namespace

TEST_CASE("inner name: goes down, and nowhere else") {
  for (const char* name : {"a", "a/b", "a.b", "..a", "a..", "...", "a/.b", " "})
    CHECK(is_inner_name(name));
  using namespace std::string_view_literals;
  for (const std::string_view name : {""sv, "/"sv, "/a"sv, "."sv, ".."sv, "../a"sv, "a/.."sv,
                                      "a/../b"sv, "./a"sv, "a//b"sv, "a/"sv, "a\0b"sv})
    CHECK_FALSE(is_inner_name(name));
}

TEST_CASE("dataset directory: opens what lies in it") {
  const Place place;
  CHECK(place.set().read_text("a") == "a");
  CHECK(place.set().read_text("below/b") == "b");
  CHECK(place.set().holds("a", 1, sha256(as_bytes("a"))));
  CHECK_FALSE(place.set().holds("a", 2, sha256(as_bytes("a"))));
  CHECK_FALSE(place.set().holds("a", 1, sha256(as_bytes("b"))));
  CHECK(place.refusal("nothing") == ErrorKind::kNotFound);
}

TEST_CASE("dataset directory: no name leads out, and no link is followed, be it to its own files") {
  const Place place;
  for (const char* name : {"../other/c", "below/../a", "link", "link-inside", "folder/c"})
    CHECK(place.refusal(name) == ErrorKind::kCorrupt);
  CHECK(place.refusal((place.directory / "set/a").string()) == ErrorKind::kCorrupt);
  CHECK_FALSE(place.set().holds("link", 1, sha256(as_bytes("c"))));
}

TEST_CASE("dataset directory: shards of others may be reached through links, by an inner name") {
  const Place place;
  CHECK(place.set().open("link", Links::kToShards));
  CHECK(place.set().open("folder/c", Links::kToShards));
  CHECK(place.refusal("../other/c", Links::kToShards) == ErrorKind::kCorrupt);
}

TEST_CASE("dataset directory: a pipe or a folder is no file, and nothing waits for it") {
  const Place place;
  for (const Links links : {Links::kNone, Links::kToShards}) {
    CHECK(place.refusal("pipe", links) == ErrorKind::kCorrupt);
    CHECK(place.refusal("below", links) == ErrorKind::kCorrupt);
  }
}

TEST_CASE("dataset directory: a finished file takes its place, and that of a link") {
  const Place place;
  const auto replace = [&](const std::string& name) {
    put(place.directory / "finished", "new");
    place.set().replace(place.directory / "finished", name);
    CHECK(place.set().read_text(name) == "new");
  };
  for (const char* name : {"a", "below/b", "further/down/file", "link"}) replace(name);
  CHECK(test::tree(place.directory / "other").find(sha256(as_bytes("c"))) != std::string::npos);
}

TEST_CASE("dataset directory: a file goes nowhere through a link or out") {
  const Place place;
  put(place.directory / "finished", "new");
  for (const char* name : {"folder/c", "folder/new", "../other/c", "link/x"}) {
    CAPTURE(name);
    CHECK(kind_of_error([&] { place.set().replace(place.directory / "finished", name); }) !=
          ErrorKind::kUsage);
  }
  CHECK_FALSE(fs::exists(place.directory / "other/new"));
  CHECK(fs::file_size(place.directory / "other/c") == 1);
}

TEST_CASE("dataset directory: knows when another has taken its place") {
  const Place place;
  const DatasetDirectory set = place.set();
  CHECK(set.still_there());
  fs::rename(place.directory / "set", place.directory / "before");
  CHECK_FALSE(set.still_there());
  CHECK(set.read_text("a") == "a");
  fs::rename(place.directory / "other", place.directory / "set");
  CHECK_FALSE(set.still_there());
}

}  // namespace packhorse
