#include "tasks/multilabel/label_scores.h"

#include <array>
#include <limits>

#include "packhorse/base/error.h"
#include "support/support.h"

namespace packhorse::trainer {

namespace {

using Row = std::array<float, 2>;
using Truth = std::array<std::uint8_t, 2>;

LabelScores scores_of(std::initializer_list<std::pair<Row, Truth>> rows) {
  LabelScores scores(2);
  for (const auto& [row, truth] : rows) scores.add(row, truth);
  return scores;
}

/// scikit-learn's example: truth 0 0 1 1, scores 0.1 0.4 0.35 0.8 have the average precision
/// 0.8333.
LabelScores example() {
  return scores_of(
      {{{0.1F, 0.9F}, {0, 0}}, {{0.4F, 0}, {0, 0}}, {{0.35F, 0}, {1, 0}}, {{0.8F, 0}, {1, 0}}});
}

}  // namespace

TEST_CASE("label scores: average precision") {
  CHECK(example().average_precision(0).value() == doctest::Approx(5.0 / 6));
  // Equal scores come together, in whatever order: two of four are right.
  const LabelScores equal = scores_of(
      {{{0.5F, 0}, {1, 0}}, {{0.5F, 0}, {0, 0}}, {{0.5F, 0}, {0, 0}}, {{0.5F, 0}, {1, 0}}});
  CHECK(equal.average_precision(0).value() == doctest::Approx(0.5));
  CHECK(scores_of({{{0.9F, 0}, {1, 0}}}).average_precision(0).value() == 1);
}

TEST_CASE("label scores: what is not a number is less sure than all that are") {
  const float none = std::numeric_limits<float>::quiet_NaN();
  const LabelScores scores =
      scores_of({{{none, none}, {1, 1}}, {{0, 1}, {0, 0}}, {{none, 0}, {0, 1}}});
  CHECK(scores.average_precision(0).value() == doctest::Approx(1.0 / 3));
  CHECK(scores.average_precision(1).value() == doctest::Approx(0.5 / 2 + 2.0 / 3 / 2));
  CHECK(scores.f1().value() == 0);
}

TEST_CASE("label scores: a class that no picture has is not defined") {
  CHECK_FALSE(example().average_precision(1).has_value());
  CHECK(example().mean_average_precision() == example().average_precision(0));
  CHECK_FALSE(LabelScores(2).mean_average_precision().has_value());
  CHECK_FALSE(LabelScores(2).f1().has_value());
}

TEST_CASE("label scores: F1 counts scores from a half") {
  const LabelScores scores = scores_of({{{0.5F, 0.9F}, {1, 0}}, {{0.49F, 0.1F}, {1, 0}}});
  CHECK(scores.f1().value() == doctest::Approx(2.0 * 1 / (2 + 2)));
}

TEST_CASE("label scores: parts become the whole") {
  const LabelScores whole = example();
  LabelScores merged(2);
  const LabelScores a = scores_of({{{0.1F, 0.9F}, {0, 0}}, {{0.4F, 0}, {0, 0}}});
  const LabelScores b = scores_of({{{0.35F, 0}, {1, 0}}, {{0.8F, 0}, {1, 0}}});
  for (const LabelScores& part : {b, LabelScores(2), a}) merged.merge(part.serialise());
  CHECK(merged.pictures() == 4);
  CHECK(merged.average_precision(0) == whole.average_precision(0));
  std::vector<std::byte> bytes = whole.serialise();
  bytes.pop_back();
  CHECK(test::kind_of_error([&] { merged.merge(bytes); }) == ErrorKind::kCorrupt);
  CHECK(test::kind_of_error([&] { merged.add(Row{}, std::array<std::uint8_t, 1>{}); }) ==
        ErrorKind::kUsage);
}

}  // namespace packhorse::trainer
