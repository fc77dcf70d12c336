#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "packhorse/base/bytes.h"

namespace packhorse::trainer {

/// How well scores for each class agree with the classes that pictures have. Holds five bytes a
/// picture and class. One thread.
class LabelScores {
 public:
  explicit LabelScores(std::size_t classes) : classes_(classes) {}

  /// `scores` 0 to 1 and `truth` 0 or 1, of a picture, by class.
  void add(std::span<const float> scores, std::span<const std::uint8_t> truth);
  std::size_t pictures() const { return truth_.size() / classes_; }

  /// The area under precision over recall, as scikit-learn's average_precision_score: the sum of
  /// precision times the recall gained, at each score that occurs. Nothing for a class that no
  /// picture has.
  std::optional<double> average_precision(std::size_t label) const;
  /// The mean over classes that some picture has.
  std::optional<double> mean_average_precision() const;
  /// F1 of all classes together, of scores from 0.5; nothing where no picture has a class.
  std::optional<double> f1() const;

  std::vector<std::byte> serialise() const;
  /// Throws Error(kCorrupt) for bytes that no serialise() of as many classes has made.
  void merge(Bytes bytes);

 private:
  std::size_t classes_;
  std::vector<float> scores_;        ///< [pictures, classes]
  std::vector<std::uint8_t> truth_;  ///< likewise
};

}  // namespace packhorse::trainer
