#include "packhorse/version.h"

#include <doctest/doctest.h>

namespace packhorse {

TEST_CASE("version: the library has that of its headers, which the numbers make up") {
  CHECK(version() == PACKHORSE_VERSION);
  CHECK(version() == std::to_string(PACKHORSE_VERSION_MAJOR) + "." +
                         std::to_string(PACKHORSE_VERSION_MINOR) + "." +
                         std::to_string(PACKHORSE_VERSION_PATCH));
}

}  // namespace packhorse
