#include "sources/folder/folder_items.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/file.h"
#include "listing/names.h"
#include "listings.h"
#include "support/support.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::put;
using test::TemporaryDirectory;

Names images(const SourceContents& contents) {
  Names paths;
  for (std::size_t i = 0; i < contents.images.size(); ++i)
    paths.push_back(contents.images.path_of(i));
  return paths;
}

}  // namespace

TEST_CASE("read folder: all images by name or bytes, at any depth, in the order of their paths") {
  const TemporaryDirectory root;
  for (const char* path : {"b/1.jpg", "a/deep/2.jpg", "a-b/3.jpg", "a/4.jpg", "5.jpg"})
    put(root / path, "x");
  put(root / "c" / "picture", test::tiny_image(1));
  put(root / "c" / "notes.txt", "text");
  fs::create_directories(root / "empty" / "inside");
  const SourceContents all = read_folder(root.path(), {}, nullptr);
  CHECK(images(all) ==
        Names{"5.jpg", "a-b/3.jpg", "a/4.jpg", "a/deep/2.jpg", "b/1.jpg", "c/picture"});
  REQUIRE(all.others.size() == 1);
  CHECK(all.others.front().path == "c/notes.txt");
  CHECK(sorted(all.folders) == Names{"empty", "empty/inside"});
}

TEST_CASE("read folder: a folder that cannot be read is an Error, one in it a reject") {
  const TemporaryDirectory root;
  put(root / "a" / "1.jpg", "x");
  CHECK(kind_of_error([&] { read_folder(root / "no", {}, nullptr); }) == ErrorKind::kNotFound);
  CHECK(kind_of_error([&] { read_folder(root / "a" / "1.jpg", {}, nullptr); }) ==
        ErrorKind::kNotFound);
}

TEST_CASE("read folder: what lies in too many folders is a reject") {
  const TemporaryDirectory root;
  fs::path deep = root.path();
  for (std::size_t i = 0; i <= naming::kMostFolders; ++i) deep /= "d";
  put(deep / "1.jpg", "x");
  const SourceContents all = read_folder(root.path(), {}, nullptr);
  CHECK(all.images.size() == 0);
  REQUIRE(all.others.size() == 1);
  CHECK(all.others.front().problem.code == Reason::kTooDeep);
}

TEST_CASE("read folder: a link to a folder it lies in is passed over, be that above the root") {
  const TemporaryDirectory root;
  put(root / "private" / "1.jpg", "x");
  put(root / "ds" / "elsewhere" / "2.jpg", "x");
  fs::create_directory(root / "ds" / "a");
  fs::create_symlink(".", root / "ds" / "a" / "self");
  fs::create_symlink("..", root / "ds" / "a" / "root");
  fs::create_symlink("../..", root / "ds" / "a" / "above");
  fs::create_symlink("../elsewhere", root / "ds" / "a" / "beside");
  const SourceContents all = read_folder(root / "ds", {}, nullptr);
  CHECK(images(all) == Names{"a/beside/2.jpg", "elsewhere/2.jpg"});
  CHECK(all.others.size() == 3);
  REQUIRE(all.twins.size() == 1);
}

TEST_CASE("folder items: each kind of entry, and a file's facts once it is looked at") {
  const TemporaryDirectory root;
  put(root / "file", "12345");
  put(root / ".hidden", "x");
  fs::create_directory(root / "folder");
  REQUIRE(::mkfifo((root / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("nowhere", root / "broken");
  fs::create_symlink("file", root / "link");
  fs::create_symlink("..", root / "up");
  const UniqueFd folder = open_file(root.path(), O_RDONLY | O_DIRECTORY);
  FolderItems items(folder.get(), with_all_above(root.path()), 1);
  using Type = FolderItems::Type;
  const auto type = [&](const char* name) { return items[items.find(name).value()].type; };
  CHECK(items.size() == 7);
  CHECK(type("file") == Type::kFile);
  CHECK(type(".hidden") == Type::kPassedOver);
  CHECK(type("folder") == Type::kDirectory);
  CHECK(type("pipe") == Type::kOther);
  CHECK(type("broken") == Type::kBroken);
  CHECK(type("link") == Type::kFile);
  CHECK(type("up") == Type::kLoop);
  items.look_at_files(folder.get(), 1);
  for (const char* name : {"file", "link"}) {
    const FolderItems::Item& item = items[items.find(name).value()];
    CHECK(item.size == 5);
    CHECK(item.stamp > 0);
  }
}

}  // namespace packhorse
