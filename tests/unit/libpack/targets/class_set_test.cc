#include "packhorse/targets/class_set.h"

#include <doctest/doctest.h>

#include <limits>

#include "packhorse/base/error.h"

namespace packhorse::test {

TEST_CASE("classes: what is stored is read") {
  for (const ClassSet& set : {ClassSet{}, ClassSet{{0, 3, 7}, {}}, ClassSet{{1, 2}, {.5f, -1}}}) {
    CHECK(decode_classes(encode_classes(set)) == set);
  }
}

TEST_CASE("classes: fields that are none are refused") {
  const std::vector<std::byte> good = encode_classes({{1, 2}, {.5f, 1}});
  const auto refuses = [](std::vector<std::byte> field) {
    CHECK_THROWS_AS(static_cast<void>(decode_classes(field)), Error);
  };
  for (std::size_t size = 0; size < good.size(); ++size)
    refuses({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
  std::vector<std::byte> longer = good;
  longer.push_back({});
  refuses(longer);
  std::vector<std::byte> huge = good;
  huge[11] = std::byte{0xff};
  refuses(huge);
  refuses(encode_classes({{2, 2}, {}}));
  refuses(encode_classes({{-1, 2}, {}}));
  refuses(encode_classes({{1, 2}, {1}}));
  refuses(encode_classes({{1}, {std::numeric_limits<float>::quiet_NaN()}}));
}

}  // namespace packhorse::test
