#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/program.h"
#include "measure/measure.h"
#include "measure/pack_all.h"
#include "measure/predict.h"
#include "measure/sweep.h"

/// Measurements as --json prints them, written and read; docs/schemas names the fields. Later
/// versions only add fields.
namespace packhorse::trainer {

program::Json measurement_json(const SpeedReport& report, const MeasureOptions& options,
                               const std::vector<PackingCost>& packing);

/// What a measurement says about the cost of images, for predictions.
struct Measurement {
  struct Input {
    std::string name;
    double samples = 0;
    Epoch epoch;       ///< of training: a last batch that is not full is left out
    ImageCosts costs;  ///< of its warm run
  };
  struct Speed {
    std::size_t input = 0;
    std::string condition;
    std::optional<reader::StorageModel> storage;  ///< none: the page cache
    std::string work;                             ///< "decode" or "training"
    double images_per_s = 0;
  };
  Machine machine;  ///< that it was made on
  reader::OrderKind order = {};
  std::vector<Input> inputs;          ///< those that were measured warm, the folder first
  std::vector<std::string> not_warm;  ///< the names of the others, such as those at URLs
  std::vector<Speed> speeds;          ///< of the conditions whose storage is known

  /// The cost of an image: the storage decides how many are requested together.
  ImageCosts costs(const Input& input, const std::optional<reader::StorageModel>& storage) const;
};
/// Reads what measurement_json() made. Throws Error(kNotFound), kUsage for another kind of
/// document, kCorrupt when fields are missing.
Measurement read_measurement(const std::filesystem::path& path);

program::Json sweep_json(const SweepReport& report, const MeasureOptions& options);

program::Json to_json(const Condition& condition);
/// The start of a document: the time, the running command, versions and the machine.
program::Json document_head(const char* schema);

// Puts measurements into words.

std::string measurement_text(const SpeedReport& report, const MeasureOptions& options,
                             const std::vector<PackingCost>& packing);
std::string sweep_text(const SweepReport& report);

}  // namespace packhorse::trainer
