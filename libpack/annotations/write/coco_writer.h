#pragma once

#include "annotations/write/notation_writer.h"
#include "base/file.h"

namespace packhorse {

/// Writes `images/[split]/...` and `annotations/instances[_split].json`.
///
/// Where every sample has its record (CocoFile::record()), all is as it was in the source's file,
/// and images have their names in it: nothing is lost but the order of the lists, which becomes
/// that of the dataset. Else images and annotations get ids from 1, and what they say comes from
/// the objects; VOC's flags become members of their names (coco_object.h). Categories are those of
/// the source's file where the dataset keeps them, and else have ids from 1.
///
/// Memory: none that grows with the dataset; annotations wait in a file of their own.
class CocoWriter final : public NotationWriter {
 public:
  explicit CocoWriter(const NotedDataset& dataset);

  std::filesystem::path images() const override;
  std::filesystem::path place(const std::filesystem::path& path, std::string_view text,
                              Unsaid& unsaid) const override;
  void add(const NotedSample& sample) override;
  std::uint64_t finish() override;

 private:
  void add_record(const NotedSample& sample);
  void add_made(const NotedSample& sample);
  void add_annotation(std::string_view json);
  void begin(std::string_view head);
  void copy_annotations();

  NotedDataset dataset_;
  std::vector<std::string> category_ids_;  ///< by label
  AtomicFile file_, annotations_;
  bool first_image_ = true, first_annotation_ = true;
  std::uint64_t made_ = 0;  ///< annotations
};

}  // namespace packhorse
