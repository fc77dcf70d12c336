#include "packhorse/analysis/detection_scores.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "packhorse/base/error.h"
#include "support/support.h"

namespace packhorse {

namespace {

using test::kind_of_error;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const TrueObject kObject{{10, 10, 20, 20}, 1, 400};
const Detection kDetection{{11, 10, 20, 20}, 1, 0.5};

/// Two classes; the first has no object, the second two of which one is found.
DetectionScores some() {
  DetectionScores scores(2);
  scores.add(0, {{kObject}}, {{kDetection}});
  scores.add(1, {{kObject}}, {});
  scores.add(2, {}, {});
  return scores;
}

}  // namespace

TEST_CASE("detection scores: a class without objects is not defined, and left out of the means") {
  const DetectionReport report = some().report();
  CHECK(report.images == 3);
  CHECK_FALSE(report.classes[0].ap.has_value());
  CHECK(report.classes[0].precision50.empty());
  CHECK(report.classes[1].objects == 2);
  CHECK(report.ap50 == report.classes[1].ap50);
  CHECK(report.ap50.value() == doctest::Approx(51.0 / 101));
  CHECK_FALSE(report.ap_large.has_value());
  CHECK_FALSE(DetectionScores(2).report().ap.has_value());
}

TEST_CASE("detection scores: what is no number or no class is refused") {
  DetectionScores scores(2);
  const auto refuses = [&](const TrueObject& object, const Detection& detection) {
    return kind_of_error([&] { scores.add(0, {{object}}, {{detection}}); }) == ErrorKind::kUsage;
  };
  for (const double bad : {kNan, std::numeric_limits<double>::infinity()}) {
    CHECK(refuses({{bad, 0, 1, 1}, 0, 1}, kDetection));
    CHECK(refuses({{0, 0, 1, 1}, 0, bad}, kDetection));
    CHECK(refuses(kObject, {{0, 0, 1, bad}, 0, 0.5}));
    CHECK(refuses(kObject, {{0, 0, 1, 1}, 0, bad}));
  }
  CHECK(refuses(kObject, {{0, 0, 1, 1}, 2, 0.5}));
  CHECK(refuses({{0, 0, 1, 1}, -1, 1}, kDetection));
  CHECK(scores.report().images == 0);
}

TEST_CASE("detection scores: the mistakes of a picture, however many objects are in it") {
  const auto counts = [](const std::vector<TrueObject>& objects,
                         const std::vector<Detection>& detections) {
    const Mistakes mistakes = mistakes_of(objects, detections);
    return std::pair(mistakes.missed, mistakes.false_alarms);
  };
  using Counts = std::pair<std::uint64_t, std::uint64_t>;
  CHECK(counts({}, {}) == Counts{0, 0});
  CHECK(counts({kObject}, {kDetection}) == Counts{0, 0});
  CHECK(counts({kObject}, {kDetection, kDetection}) == Counts{0, 1});
  CHECK(counts({kObject, {{0, 0, 5, 5}, 0, 25}}, {{{11, 10, 20, 20}, 0, 0.5}}) == Counts{2, 1});
  TrueObject crowd = kObject;
  crowd.crowd = true;
  CHECK(counts({crowd}, {kDetection, kDetection}) == Counts{0, 0});
  CHECK(counts({crowd}, {}) == Counts{0, 0});

  std::vector<TrueObject> objects;
  std::vector<Detection> detections;
  for (int i = 0; i < 150; ++i) {
    objects.push_back({{30.0 * i, 0, 20, 20}, 3, 400});
    detections.push_back({{30.0 * i, 0, 20, 20}, 3, 0.5});
  }
  CHECK(counts(objects, detections) == Counts{0, 0});
  detections.resize(120);
  CHECK(counts(objects, detections) == Counts{30, 0});
}

TEST_CASE("detection scores: parts are merged, and bytes that are none are refused") {
  const std::vector<std::byte> bytes = some().serialise();
  DetectionScores twice(2);
  twice.merge(bytes);
  twice.merge(bytes);
  CHECK(twice.report().images == 6);
  CHECK(twice.report().classes[1].objects == 4);
  const auto refuses = [](const std::vector<std::byte>& part, std::size_t classes = 2) {
    DetectionScores scores(classes);
    const bool refused = kind_of_error([&] { scores.merge(part); }) == ErrorKind::kCorrupt;
    return refused && scores.report().images == 0;
  };
  CHECK(refuses(bytes, 3));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    CHECK(refuses({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}));
  }
  // The only detection is last: its rank, and bits for ten overlaps.
  const std::size_t rank = bytes.size() - 2 * kObjectSizes * sizeof(std::uint16_t) - 2;
  for (std::size_t at = rank; at < bytes.size(); at += 2) {
    CAPTURE(at);
    std::vector<std::byte> bad = bytes;
    bad[at + 1] = std::byte{0x80};
    CHECK(refuses(bad));
  }
  std::vector<std::byte> nan = bytes;
  std::fill(nan.begin() + static_cast<std::ptrdiff_t>(rank - 16),
            nan.begin() + static_cast<std::ptrdiff_t>(rank - 8), std::byte{0xff});
  CHECK(refuses(nan));
}

}  // namespace packhorse
