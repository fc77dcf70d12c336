#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/program.h"
#include "packhorse/trainer/measure/predict.h"

namespace packhorse::trainer {

/// Reads back what `packhorse-train measure --json` printed, to make predictions from it.
class PastReport {
 public:
  /// Throws Error(kNotFound), kUsage for another kind of document, kCorrupt when fields are
  /// missing.
  explicit PastReport(const std::filesystem::path& path);

  /// The names of the inputs that were measured warm, the folder's first.
  const std::vector<std::string>& inputs() const { return inputs_; }
  /// Those of the others, of which nothing can be predicted: they lie at URLs.
  const std::vector<std::string>& not_warm() const { return not_warm_; }
  /// The cost of an image of an input, taken from its warm run. The storage decides how many images
  /// are requested together; no storage means the page cache.
  ImageCosts costs(const std::string& input,
                   const std::optional<reader::StorageModel>& storage) const;
  /// The machine the report was made on, reading from the page cache.
  Machine machine() const;

  /// An epoch of training on an input; the last batch is left out when it is not full.
  Epoch epoch(const std::string& input) const;

  /// A prediction and the measurement it is checked against.
  struct Check {
    std::string input, condition, work;
    double predicted = 0, measured = 0;  ///< images/s
    double error() const { return predicted / measured - 1; }
  };
  /// Predictions of decoding and training, for every input under every condition whose storage is
  /// known: warm and simulated ones.
  std::vector<Check> check() const;

 private:
  const program::Json& input(const std::string& name) const;
  const program::Json* find_run(const std::string& input, const std::string& condition) const;
  const program::Json& run(const std::string& input, const std::string& condition) const;

  std::filesystem::path path_;
  program::Json json_;
  std::vector<std::string> inputs_, not_warm_;
};

}  // namespace packhorse::trainer
