#include "toy_set.h"

#include <array>

#include "base/permutation.h"
#include "support/support.h"

namespace packhorse::test {

void make_toy_set(const std::filesystem::path& root, int classes, int images_per_class) {
  static constexpr std::array<const char*, 3> kNames = {"red", "green", "blue"};
  std::uint64_t noise = 1;
  for (int c = 0; c < classes; ++c) {
    for (int i = 0; i < images_per_class; ++i) {
      std::string ppm = "P6\n16 16\n255\n";
      for (int value = 0; value < 16 * 16 * 3; ++value) {
        noise = mix64(noise);
        ppm += static_cast<char>((value % 3 == c ? 90 : 60) + noise % 90);
      }
      put(root / kNames[static_cast<std::size_t>(c)] /
              (kNames[static_cast<std::size_t>(c)] + std::to_string(1000 + i) + ".ppm"),
          ppm);
    }
  }
}

}  // namespace packhorse::test
