#include <doctest/doctest.h>

#include "listing/names.h"
#include "support/support.h"

namespace packhorse {

using test::put;
using test::TemporaryDirectory;

TEST_CASE("find images: NumPy files are images where there are no others") {
  const TemporaryDirectory root;
  put(root / "b/2.npy", "x");
  put(root / "a/1.NPY", "x");
  put(root / "a/1.txt", "x");
  using Paths = std::vector<std::filesystem::path>;
  CHECK(find_images(root.path()) == Paths{root / "a/1.NPY", root / "b/2.npy"});
  put(root / "b/3.jpg", "x");
  CHECK(find_images(root.path()) == Paths{root / "b/3.jpg"});
}

}  // namespace packhorse
