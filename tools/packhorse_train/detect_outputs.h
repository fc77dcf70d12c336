#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/coco_results.h"
#include "packhorse/image/image_info.h"
#include "packhorse/reader/dataset.h"
#include "packhorse/reader/decode.h"
#include "tasks/task.h"

namespace packhorse::trainer {

/// A dataset whose pictures are looked at.
struct DetectInput {
  std::filesystem::path path;  ///< empty: files
  std::shared_ptr<const reader::Dataset> dataset;
};

struct DetectOutputOptions {
  bool json = false;
  std::filesystem::path coco;         ///< empty: none
  std::filesystem::path annotations;  ///< that say COCO's ids; empty: none
  std::filesystem::path pictures;     ///< empty: none
  ImageLimits limits = {};            ///< of images that are decoded to be drawn on
};

/// Where detections go: to standard output, into a file of COCO's results, into pictures.
class DetectOutputs {
 public:
  /// Throws Error(kUsage) for a folder that exists, and for inputs whose ids would be mixed up.
  DetectOutputs(const DetectOutputOptions& options, const std::vector<std::string>& classes,
                const std::vector<DetectInput>& inputs);

  /// The following pictures are of `input`.
  void begin(const DetectInput& input);
  void add(const SeenPicture& picture);
  /// The input has ended; `bad` are pictures of it that were left out, the others were added.
  void end(const std::vector<reader::BadSample>& bad);
  void finish();

 private:
  void print(const SeenPicture& picture) const;
  void write_picture(const SeenPicture& picture);
  void begin_results(const std::vector<DetectInput>& inputs);
  CocoIds choose_ids();
  bool has_numeric_names() const;
  std::string image_id(const SeenPicture& picture);

  DetectOutputOptions options_;
  std::vector<std::string> classes_;
  DetectInput input_;
  std::optional<CocoIds> ids_;
  std::optional<CocoResults> results_;
  bool numeric_names_ = false;
  std::optional<std::size_t> record_field_;
  reader::Decoder decoder_;
  std::vector<std::byte> bytes_;
  std::uint64_t pictures_ = 0, objects_ = 0, left_out_ = 0;
  std::uint64_t pictures_before_ = 0;  ///< of earlier inputs
};

}  // namespace packhorse::trainer
