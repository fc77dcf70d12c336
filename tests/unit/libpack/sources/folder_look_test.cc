#include "sources/folder_look.h"

#include <doctest/doctest.h>

#include <set>

#include "packhorse/base/error.h"
#include "support/support.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::put;
using test::TemporaryDirectory;

/// The names that a look shows, each as often as it does; `most`: where it stops.
std::multiset<std::string> shown(FolderLook& look, const fs::path& folder, std::size_t most = 100) {
  std::multiset<std::string> names;
  look.look_in(folder, [&](const fs::directory_entry& entry) {
    names.insert(entry.path().filename());
    return names.size() < most;
  });
  return names;
}

}  // namespace

TEST_CASE("folder look: a folder is read once, and only as far as somebody looks") {
  const TemporaryDirectory folder;
  for (const char* name : {"a", "b", "c"}) put(folder / name, "");
  FolderLook look;
  CHECK(shown(look, folder.path(), 2).size() == 2);
  CHECK(shown(look, folder.path()) == std::multiset<std::string>{"a", "b", "c"});
  put(folder / "d", "");
  CHECK(shown(look, folder.path()).size() == 3);
  CHECK(look.files_in(folder.path()) == std::vector<std::string>{"a", "b", "c"});
  CHECK(FolderLook().files_in(folder.path()).size() == 4);
}

TEST_CASE("folder look: what is not kept is read again, and nothing is shown twice or left out") {
  const TemporaryDirectory folder;
  for (const char* name : {"a", "b", "c", "d"}) put(folder / name, "");
  FolderLook look(2);
  for (int i = 0; i < 3; ++i)
    CHECK(shown(look, folder.path()) == std::multiset<std::string>{"a", "b", "c", "d"});
  put(folder / "e", "");
  CHECK(shown(look, folder.path()).size() == 5);
}

TEST_CASE("folder look: folders that are read in part do not use up the open files") {
  const TemporaryDirectory folder;
  for (int i = 0; i < 100; ++i)
    for (const char* name : {"a.jpg", "b.jpg"}) put(folder / std::to_string(i) / name, "");
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = open_files();
  FolderLook look;
  for (int i = 0; i < 100; ++i) CHECK(look.holds_image_names(folder / std::to_string(i)));
  CHECK(open_files() < before + 50);
  for (int i = 0; i < 100; ++i)
    CHECK(look.files_in(folder / std::to_string(i)) == std::vector<std::string>{"a.jpg", "b.jpg"});
  CHECK(open_files() == before);
}

TEST_CASE("folder look: names are sorted, apart from hidden ones; a file holds none") {
  const TemporaryDirectory folder;
  for (const char* name : {"z.jpg", ".hidden", "sub/x"}) put(folder / name, "");
  FolderLook look;
  CHECK(look.files_in(folder.path()) == std::vector<std::string>{"z.jpg"});
  CHECK(look.folders_in(folder.path()) == std::vector<std::string>{"sub"});
  CHECK(look.files_in(folder / "z.jpg").empty());
  CHECK(look.holds_image_names(folder.path()));
  CHECK_FALSE(look.holds_image_names(folder / "sub"));
  CHECK(kind_of_error([&] { static_cast<void>(look.holds_image_names(folder / "none")); }) ==
        ErrorKind::kNotFound);
}

}  // namespace packhorse
