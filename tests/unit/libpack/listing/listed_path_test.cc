#include "listing/listed_path.h"

#include "support/support.h"

namespace packhorse {

namespace {

using Names = std::vector<std::string>;

/// The stored form of paths in the list "/data/lists/x.csv".
Names stored(const Names& written) {
  ListedPaths paths("/data/lists");
  Names all;
  for (const std::string& path : written) paths.add(paths.place(path));
  paths.finish();
  for (const std::string& path : written) {
    all.push_back(paths.stored(paths.place(path)));
    CHECK((paths.base() / all.back()).lexically_normal() ==
          ("/data/lists" / std::filesystem::path(path)).lexically_normal());
  }
  return all;
}

}  // namespace

TEST_CASE("listed paths: inside the list's folder they are relative to it, and normalised") {
  CHECK(stored({"a/1.jpg", "./a/2.jpg", "a//3.jpg", "b/../4.jpg", "../lists/5.jpg",
                "/data/lists/6.jpg", "..a/7.jpg", "b../8.jpg", ".h/9.jpg"}) ==
        Names{"a/1.jpg", "a/2.jpg", "a/3.jpg", "4.jpg", "5.jpg", "6.jpg", "..a/7.jpg", "b../8.jpg",
              ".h/9.jpg"});
}

TEST_CASE("listed paths: when one leads out, all are relative to the deepest folder of all") {
  CHECK(stored({"a/1.jpg", "../images/2.jpg"}) == Names{"lists/a/1.jpg", "images/2.jpg"});
  CHECK(stored({"../images/a/1.jpg", "../images/b/2.jpg"}) == Names{"a/1.jpg", "b/2.jpg"});
  CHECK(stored({"/mnt/x/1.jpg", "/mnt/xy/2.jpg"}) == Names{"x/1.jpg", "xy/2.jpg"});
  CHECK(stored({"/mnt/x/y/1.jpg", "/mnt/x/2.jpg"}) == Names{"y/1.jpg", "2.jpg"});
  CHECK(stored({"/mnt/x/1.jpg", "/mnt/x/y/2.jpg"}) == Names{"1.jpg", "y/2.jpg"});
  CHECK(stored({"/mnt/1.jpg", "a/2.jpg"}) == Names{"mnt/1.jpg", "data/lists/a/2.jpg"});
  CHECK(stored({"/data/1.jpg", "2.jpg"}) == Names{"1.jpg", "lists/2.jpg"});
  CHECK(stored({"/1.jpg"}) == Names{"1.jpg"});
}

}  // namespace packhorse
