#include "base/paths.h"

#include <filesystem>

#include "base/file.h"
#include "support/support.h"

namespace packhorse {

TEST_CASE("paths: files and folders are told apart, through links, and nothing throws") {
  const test::TemporaryDirectory place;
  const std::filesystem::path file = place.path() / "file", link = place.path() / "link";
  write_file(file, {});
  std::filesystem::create_symlink(file, link);
  std::filesystem::create_symlink(place.path() / "nothing", place.path() / "dangling");
  for (const std::filesystem::path& one : {file, link}) {
    CHECK(is_file(one));
    CHECK_FALSE(is_folder(one));
    CHECK(path_exists(one));
  }
  CHECK(is_folder(place.path()));
  CHECK_FALSE(is_file(place.path()));
  for (const char* const other : {"nothing", "dangling", "file/below"}) {
    CHECK_FALSE(is_file(place.path() / other));
    CHECK_FALSE(is_folder(place.path() / other));
    CHECK_FALSE(path_exists(place.path() / other));
  }
}

TEST_CASE("paths: a name alone lies in the current folder") {
  CHECK(folder_around("a/b") == "a");
  CHECK(folder_around("b") == ".");
}

}  // namespace packhorse
