#pragma once

#include "annotations/write/notation_writer.h"

namespace packhorse {

/// Writes `images/[split]/...` and, for each image, `labels/[split]/....txt`, a line for each
/// object (yolo_labels.h): with key points where the dataset has any, else as a polygon where it is
/// the object's only one, else as a box. Numbers have all their digits, so that boxes are the same
/// floats when they are read again. Crowds are left out: a line would make them one object.
class YoloWriter final : public NotationWriter {
 public:
  explicit YoloWriter(const NotedDataset& dataset) : dataset_(dataset) {}

  std::filesystem::path images() const override;
  std::optional<OwnFile> own_file(const NotedSample& sample, Unsaid& unsaid) const override;
  void add(const NotedSample&) override {}
  std::uint64_t finish() override { return 0; }

 private:
  NotedDataset dataset_;
};

/// The text of `data.yaml`, for the splits with this target.
std::string yolo_data(const std::vector<std::string>& splits, const TargetRecord& target);

}  // namespace packhorse
