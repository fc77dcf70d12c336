#pragma once

#include "annotations/write/notation_writer.h"
#include "base/file.h"

namespace packhorse {

/// Writes `JPEGImages/...`, for each image `Annotations/....xml` (voc_file.h), and its name in
/// `ImageSets/Main/<split>.txt` ("trainval" without splits). An image that was packed with such a
/// file, and has not been changed, gets that file. Else corners count from 1 and keep fractions of
/// pixels; crowds are left out, as a box would make them one object.
class VocWriter final : public NotationWriter {
 public:
  /// Throws Error(kUnsupported) for a class that XML cannot hold.
  explicit VocWriter(const NotedDataset& dataset);

  std::filesystem::path images() const override { return "JPEGImages"; }
  std::optional<OwnFile> own_file(const NotedSample& sample, Unsaid& unsaid) const override;
  void add(const NotedSample& sample) override;
  std::uint64_t finish() override;

 private:
  NotedDataset dataset_;
  AtomicFile names_;
};

}  // namespace packhorse
