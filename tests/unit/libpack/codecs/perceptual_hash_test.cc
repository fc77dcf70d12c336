#include "codecs/perceptual_hash.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "packhorse/analysis/dataset_stats.h"
#include "support/support.h"

namespace packhorse {

namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Pairs all_pairs(const std::vector<std::uint64_t>& hashes, int distance) {
  Pairs pairs;
  for (std::uint32_t i = 0; i < hashes.size(); ++i) {
    for (std::uint32_t j = i + 1; j < hashes.size(); ++j) {
      if (std::popcount(hashes[i] ^ hashes[j]) <= distance) pairs.emplace_back(i, j);
    }
  }
  return pairs;
}

/// Hashes around a few centres, so that many are near each other.
std::vector<std::uint64_t> clustered(std::size_t n) {
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> hashes;
  while (hashes.size() < n) {
    const std::uint64_t centre = random();
    for (int i = 0; i < 20; ++i) {
      std::uint64_t hash = centre;
      for (std::uint64_t flips = random() % 6; flips > 0; --flips)
        hash ^= std::uint64_t{1} << (random() % 64);
      hashes.push_back(hash);
    }
  }
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  return hashes;
}

/// A picture drawn by a function of the position; both coordinates go from 0 to 1.
class Drawn final : public ColourRows {
 public:
  Drawn(int w, int h, double (*draw)(double, double)) : draw_(draw) {
    width = w;
    height = h;
    channels = 1;
    row_.resize(static_cast<std::size_t>(w));
  }
  const std::uint8_t* next_row() override {
    for (int x = 0; x < width; ++x) {
      row_[static_cast<std::size_t>(x)] =
          static_cast<std::uint8_t>(255 * draw_((x + 0.5) / width, (y_ + 0.5) / height));
    }
    ++y_;
    return row_.data();
  }

 private:
  double (*draw_)(double, double);
  int y_ = 0;
  std::vector<std::uint8_t> row_;
};

std::optional<std::uint64_t> hash_of(int width, int height, double (*draw)(double, double),
                                     std::uint8_t orientation = 1) {
  Drawn picture(width, height, draw);
  ImageInfo info;
  info.width = static_cast<std::uint32_t>(width);
  info.height = static_cast<std::uint32_t>(height);
  info.orientation = orientation;
  return perceptual_hash(picture, info);
}

double hills(double x, double y) {
  return 0.5 + 0.2 * std::sin(7 * x + 3 * y * y) + 0.25 * std::cos(11 * y - 4 * x);
}
double hills_from_the_side(double x, double y) { return hills(y, 1 - x); }
double dim_hills(double x, double y) { return 0.1 + 0.6 * hills(x, y); }

}  // namespace

TEST_CASE("near pairs: are those that comparing all with all finds, at every distance") {
  const std::vector<std::uint64_t> hashes = clustered(1500);
  for (int distance = 0; distance <= 7; ++distance) {
    CAPTURE(distance);
    const Pairs wanted = all_pairs(hashes, distance);
    CHECK(wanted.empty() == (distance == 0));
    CHECK(near_pairs(hashes, distance, 2) == wanted);
  }
  CHECK(near_pairs({}, 7, 1).empty());
}

TEST_CASE("perceptual hash: does not depend on size, shape or brightness of a picture") {
  const std::uint64_t hash = hash_of(640, 480, hills).value();
  CHECK(std::popcount(hash) == 32);
  for (const auto& [width, height] : {std::pair{320, 240}, {100, 300}, {37, 61}, {32, 32}})
    CHECK(std::popcount(hash ^ hash_of(width, height, hills).value()) <= 4);
  CHECK(std::popcount(hash ^ hash_of(640, 480, dim_hills).value()) <= 4);
  CHECK(hash_of(20, 9, hills).has_value());
  CHECK(hash_of(1, 1, hills) == std::nullopt);
}

TEST_CASE("perceptual hash: pictures are compared as they are shown") {
  const std::uint64_t hash = hash_of(300, 200, hills).value();
  // The picture is stored turned a quarter to the left; orientation 6 says to turn it back.
  CHECK(std::popcount(hash ^ hash_of(200, 300, hills_from_the_side).value()) > 12);
  const auto turned = [](double x, double y) { return hills(1 - y, x); };
  CHECK(std::popcount(hash ^ hash_of(200, 300, turned, 6).value()) <= 4);
}

TEST_CASE("perceptual hash: a picture without features has none") {
  CHECK(hash_of(100, 100, [](double, double) { return 0.5; }) == std::nullopt);
}

TEST_CASE("class weights: are inverse frequencies with a mean of one, and zero for nothing") {
  CHECK(class_weights({2, 0, 2}, 1) == std::vector<double>{1, 0, 1});
  CHECK(class_weights({1, 3}, 1) == std::vector<double>{1.5, 0.5});
  CHECK(class_weights({1, 9}, 0.5) == std::vector<double>{1.5, 0.5});
  CHECK(class_weights({}, 1).empty());
}

}  // namespace packhorse
