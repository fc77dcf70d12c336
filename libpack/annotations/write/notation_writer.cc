#include "annotations/write/notation_writer.h"

#include "annotations/write/coco_writer.h"
#include "annotations/write/voc_writer.h"
#include "annotations/write/yolo_writer.h"
#include "packhorse/base/error.h"

namespace packhorse {

std::filesystem::path NotationWriter::place(const std::filesystem::path& path, std::string_view,
                                            Unsaid&) const {
  const std::filesystem::path first = *path.begin();
  const bool wrapped = path.has_parent_path() && (first == "images" || first == "JPEGImages");
  return wrapped ? path.lexically_relative(first) : path;
}

std::optional<NotationWriter::OwnFile> NotationWriter::own_file(const NotedSample&, Unsaid&) const {
  return std::nullopt;
}

std::unique_ptr<NotationWriter> make_notation_writer(UnpackAs as, const NotedDataset& dataset) {
  switch (as) {
    case UnpackAs::kCoco:
      return std::make_unique<CocoWriter>(dataset);
    case UnpackAs::kYolo:
      return std::make_unique<YoloWriter>(dataset);
    case UnpackAs::kVoc:
      return std::make_unique<VocWriter>(dataset);
    case UnpackAs::kFolder:
      break;
  }
  throw Error(ErrorKind::kUsage, "a folder has no notation");
}

}  // namespace packhorse
