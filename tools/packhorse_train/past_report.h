#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/program.h"
#include "packhorse/trainer/measure/predict.h"

namespace packhorse::trainer {

/// What `packhorse-train measure --json` printed, read back for predictions from it.
class PastReport {
 public:
  /// Throws Error(kNotFound), kUsage for another document, kCorrupt where fields are missing.
  explicit PastReport(const std::filesystem::path& path);

  /// Names, the folder's first.
  const std::vector<std::string>& inputs() const { return inputs_; }
  /// What an image of an input costs, from its warm run. It depends on the storage how many are
  /// asked for together; none: the page cache.
  ImageCosts costs(const std::string& input,
                   const std::optional<reader::StorageModel>& storage) const;
  /// The one it was made on, reading from the page cache.
  Machine machine() const;

  /// Of training on an input, whose last batch is left out where it is not full.
  Epoch epoch(const std::string& input) const;

  /// A prediction beside what was measured.
  struct Check {
    std::string input, condition, work;
    double predicted = 0, measured = 0;  ///< images/s
    double error() const { return predicted / measured - 1; }
  };
  /// Of decoding and training, for every input under every condition whose storage is known: not
  /// the cold ones.
  std::vector<Check> check() const;

 private:
  const program::Json& input(const std::string& name) const;
  const program::Json& run(const std::string& input, const std::string& condition) const;

  std::filesystem::path path_;
  program::Json json_;
  std::vector<std::string> inputs_;
};

}  // namespace packhorse::trainer
