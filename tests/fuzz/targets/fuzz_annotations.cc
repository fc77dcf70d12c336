// Annotation files of COCO, YOLO (labels, and data.yaml), Pascal VOC, Hugging Face and annotation
// tools, and what datasets keep of COCO's; the first byte says which.
#include <array>

#include "analysis/coco_results.h"
#include "annotations/coco_file.h"
#include "annotations/data_yaml.h"
#include "annotations/exports/export_notation.h"
#include "annotations/hf_metadata.h"
#include "annotations/voc_file.h"
#include "annotations/yolo_labels.h"
#include "support/fuzz.h"

using namespace packhorse;

namespace {

constexpr std::uint32_t kLargest = 4096;  // images larger than that only take more time

/// Takes what was collected, and fills the outlines.
void look_at(ObjectBuilder& builder, MaskSize size) {
  for (const std::string& problem : builder.problems())
    fuzz::promise(!problem.empty(), "a problem is named");
  const Objects objects = builder.take();
  fuzz::promise(decode_objects(encode_objects(objects)) == objects, "what is built can be stored");
  for (std::size_t p = 0; p + 1 < objects.points.size(); ++p) {
    const auto corners = std::span(objects.outlines)
                             .subspan(objects.points[p], objects.points[p + 1] - objects.points[p]);
    const RunLengths runs = fill_polygon(corners, size);
    check_run_lengths(runs, size);
    fuzz::promise(area_of(runs) <= size.pixels(), "a mask lies in its image");
  }
}

void look_at(const CocoFile& coco) {
  for (const CocoFile::Image& image : coco.images()) {
    if (image.width > kLargest || image.height > kLargest) continue;
    ObjectBuilder builder(
        {image.width, image.height, coco.classes().size(), coco.keypoint_names().size()});
    coco.add_objects(image, builder);
    look_at(builder, {image.height, image.width});
    ObjectBuilder again({image.width, image.height, coco.classes().size(), 0});
    static_cast<void>(coco.add_objects(coco.record(image), again));
  }
}

void coco(Bytes input) {
  static fuzz::MemoryFile file;
  file.hold(input);
  look_at(CocoFile(file.path()));
}

void metadata(Bytes input) {
  static fuzz::MemoryFile file;
  file.hold(input);
  static_cast<void>(hf_members(file.path()));
  look_at(CocoFile(file.path(), coco_of_hf_metadata(file.path(), {"cat", "dog"})));
  fuzz::promise(!hf_class_names({file.path()}).empty(), "there are classes, or an error");
}

template <std::size_t kNotation>
void exported(Bytes input) {
  static fuzz::MemoryFile file;
  file.hold(input);
  const ExportNotation& notation = export_notations()[kNotation];
  static_cast<void>(notation.marks(as_text(input)));
  ExportedImages images;
  notation.read({file.path(), as_text(input), "1", {}, {}}, images);
  images.finish(images.class_names());
  const CocoFile coco(file.path(), images.coco_text(), images.fractions);
  fuzz::promise(coco.images().size() == images.images().size(), "no image is lost");
  for (const CocoFile::Image& image : coco.images()) {
    ImageInfo stored;
    stored.width = stored.height = 64;
    fuzz::touch(exported_record(coco.record(image), "1.jpg", stored, images.fractions));
  }
  look_at(coco);
}

void yolo(Bytes input) {
  const AnnotationFrame frame = {64, 48, 3, 2};
  for (const YoloKeypoints keypoints :
       {YoloKeypoints{0, 3}, YoloKeypoints{2, 2}, YoloKeypoints{2, 3}}) {
    ObjectBuilder builder({64, 48, 3, keypoints.count});
    add_yolo_objects(as_text(input), frame, keypoints, builder);
    look_at(builder, {48, 64});
  }
}

void voc(Bytes input) {
  const VocFile file = parse_voc(as_text(input));
  ObjectBuilder builder({file.width, file.height, 1, 0});
  for (const VocFile::Object& object : file.objects) builder.add(object.object, object.name);
  look_at(builder, {file.height, file.width});
}

void data_yaml(Bytes input) {
  const DataYaml data = parse_data_yaml(as_text(input));
  fuzz::promise(!data.names.empty() && !data.splits.empty(), "it has classes and splits");
  for (const DataYaml::Split& split : data.splits) {
    fuzz::promise(!split.places.empty(), "a split has places");
    for (const std::string& place : split.places)
      fuzz::promise(yolo_labels_path(place).ends_with(".txt"), "labels are a .txt");
  }
}

void kept_head(Bytes input) { fuzz::touch(CocoIds::of_head(as_text(input), 2).of_class(1)); }

void kept_record(Bytes input) {
  fuzz::promise(!CocoIds::of_record(as_text(input)).empty(), "an image has an id, or an error");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr std::array kReaders = {coco,        yolo,        voc,         data_yaml,   metadata,
                                   kept_head,   kept_record, exported<0>, exported<1>, exported<2>,
                                   exported<3>, exported<4>, exported<5>, exported<6>, exported<7>};
  const auto reader = static_cast<std::uint8_t>(data[0] - '0') % kReaders.size();
  return fuzz::attempt(data + 1, size - 1, kReaders[reader]);
}
