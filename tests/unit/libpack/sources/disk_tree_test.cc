#include "sources/folder/disk_tree.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "listings.h"
#include "support/support.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::put;
using test::TemporaryDirectory;
using Told = FolderTree::Told;

const FieldSet kNoFields;

}  // namespace

TEST_CASE("disk tree: a folder is read once, and what comes later is in no answer") {
  const TemporaryDirectory root;
  put(root / "a" / "1.jpg", "x");
  put(root / "b" / "2.jpg", "x");
  DiskTree tree(root.path(), kNoFields, 1);
  CHECK(tree.folders("") == Names{"a", "b"});
  put(root / "c" / "3.jpg", "x");
  fs::remove_all(root / "b");
  CHECK(tree.folders("") == Names{"a", "b"});
  CHECK(tree.take("").items.folders() == Names{"a", "b"});
  CHECK(tree.folders("") == Names{"a", "c"});
}

TEST_CASE("disk tree: what cannot be read is empty, and not taken") {
  const TemporaryDirectory root;
  put(root / "a" / "1.jpg", "x");
  DiskTree tree(root.path(), kNoFields, 1);
  CHECK(tree.folders("no").empty());
  CHECK(tree.folders("a/1.jpg").empty());
  CHECK_FALSE(tree.holds_images("no"));
  CHECK_FALSE(tree.holds_images_below("no", Told::kByNameOrBytes));
  CHECK(kind_of_error([&] { tree.take("no"); }) == ErrorKind::kNotFound);
}

TEST_CASE("disk tree: a folder that cannot be read though it may be there is an Error") {
  const TemporaryDirectory root;
  const std::string name(300, 'n');  // ENAMETOOLONG
  DiskTree tree(root.path(), kNoFields, 1);
  CHECK(kind_of_error([&] { tree.folders(name); }) == ErrorKind::kIo);
  CHECK(kind_of_error([&] { tree.holds_images(name); }) == ErrorKind::kIo);
  CHECK(kind_of_error([&] { tree.holds_images_below(name, Told::kByName); }) == ErrorKind::kIo);
}

TEST_CASE("disk tree: images are found right in a folder, and below it") {
  const TemporaryDirectory root;
  put(root / "a" / "deep" / "picture", test::tiny_image(1));
  put(root / "a" / "notes.txt", "text");
  DiskTree tree(root.path(), kNoFields, 1);
  CHECK_FALSE(tree.holds_images("a"));
  CHECK(tree.holds_images("a/deep"));
  CHECK(tree.holds_images_below("a", Told::kByNameOrBytes));
  CHECK_FALSE(tree.holds_images_below("a", Told::kByName));
}

TEST_CASE("disk tree: a link to a folder it lies in is no folder, be that above the root") {
  const TemporaryDirectory root;
  put(root / "private" / "1.jpg", "x");
  put(root / "ds" / "a" / "notes.txt", "text");
  put(root / "ds" / "elsewhere" / "2.jpg", "x");
  fs::create_symlink(".", root / "ds" / "a" / "self");
  fs::create_symlink("..", root / "ds" / "a" / "root");
  fs::create_symlink("../..", root / "ds" / "a" / "above");
  fs::create_symlink("../elsewhere", root / "ds" / "a" / "beside");
  DiskTree tree(root / "ds", kNoFields, 1);
  CHECK(tree.folders("a") == Names{"beside"});
  fs::remove(root / "ds" / "a" / "beside");
  CHECK_FALSE(tree.holds_images_below("a", Told::kByNameOrBytes));
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
  DiskTree tree(root.path(), kNoFields, 1);
  const OpenFolder open = tree.take("");
  FolderItems items = open.items;
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
  items.look_at_files(open.fd.get(), 1);
  for (const char* name : {"file", "link"}) {
    const FolderItems::Item& item = items[items.find(name).value()];
    CHECK(item.size == 5);
    CHECK(item.stamp > 0);
  }
}

}  // namespace packhorse
