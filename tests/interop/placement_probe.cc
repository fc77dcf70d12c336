// Prints where the reader puts pictures and their objects; Python tests compare that with
// torchvision. `placement_probe WHAT JSON`: "plans" reads a line of JSON for each sample and prints
// one; "draw" reads an image and writes pixels; "compose" makes a sample of a packed dataset,
// writes its pixels to a file, and prints what it is made of and what is in it.
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "loader/composer.h"
#include "packhorse/base/bytes.h"
#include "packhorse/reader/dataset.h"
#include "packhorse/reader/decode.h"
#include "packhorse/reader/detection_augment.h"
#include "packhorse/reader/targets.h"
#include "packhorse/targets/run_lengths.h"

namespace {

using namespace packhorse::reader;  // NOLINT(google-build-using-namespace): a program about it
using packhorse::ImageInfo, packhorse::Objects;
using Json = nlohmann::json;

DetectionAugment augment_of(const Json& options) {
  DetectionAugment augment;
  augment.size = {options.at("height"), options.at("width")};
  if (options.value("stretch", false)) augment.fit = DetectionAugment::Fit::kStretch;
  augment.mosaic = {options.value("mosaic", 0.0), options.value("pictures", 4)};
  augment.zoom_out.probability = options.value("zoom_out", 0.0);
  augment.crop.probability = options.value("crop", 0.0);
  augment.perspective = {options.value("perspective", 0.0), options.value("distortion", 0.5)};
  const auto either_way = [&](const char* name) {
    const double most = options.value(name, 0.0);
    return RandomAffine::Range{-most, most};
  };
  const double moved = options.value("translate", 0.0);
  augment.affine = {
      either_way("degrees"),           {moved, moved},      options.value("min_scale", 1.0),
      options.value("max_scale", 1.0), either_way("shear"), either_way("shear")};
  augment.copy_paste.probability = options.value("copy_paste", 0.0);
  augment.mixup.probability = options.value("mixup", 0.0);
  augment.flip = options.value("flip", 0.0);
  augment.vertical_flip = options.value("vertical_flip", 0.0);
  augment.validate();
  return augment;
}

/// "objects": {"boxes": [[l, t, r, b]], "polygons": [[[x, y]...]], "keypoints": [[x, y]]}, one
/// polygon and one key point for each box.
Objects objects_of(const Json& given) {
  Objects objects;
  objects.polygons = objects.points = {0};
  for (std::size_t i = 0; i < given.at("boxes").size(); ++i) {
    const std::vector<float> box = given["boxes"][i];
    objects.boxes.push_back({box[0], box[1], box[2], box[3]});
    objects.labels.push_back(static_cast<std::int32_t>(i));
    objects.flags.push_back(0);
    for (const std::vector<double> corner : given.at("polygons")[i])
      objects.outlines.push_back({corner[0], corner[1]});
    objects.points.push_back(static_cast<std::uint32_t>(objects.outlines.size()));
    objects.polygons.push_back(static_cast<std::uint32_t>(i + 1));
    const std::vector<float> point = given.at("keypoints")[i];
    objects.keypoints.push_back({point[0], point[1], 2});
  }
  if (!objects.boxes.empty()) objects.keypoints_each = {1};
  return objects;
}

Json json_of(const Rect& rect) { return {rect.left, rect.top, rect.right, rect.bottom}; }

Json json_of(const Objects& objects) {
  Json made = {{"labels", objects.labels}, {"areas", objects.areas}};
  made["boxes"] = made["keypoints"] = made["masks"] = Json::array();
  for (const auto& box : objects.boxes)
    made["boxes"].push_back({box.left, box.top, box.right, box.bottom});
  for (const auto& point : objects.keypoints)
    made["keypoints"].push_back({point.x, point.y, point.visibility});
  for (std::size_t i = 0; i + 1 < objects.runs.size(); ++i) {
    const auto counts =
        std::span(objects.counts).subspan(objects.runs[i], objects.runs[i + 1] - objects.runs[i]);
    made["masks"].push_back(packhorse::run_lengths_text(counts));
  }
  return made;
}

/// What was drawn, as far as torchvision's functions ask for it.
Json draws_of(const DetectionAugment& augment, const SampleRandom& random) {
  const AffineDraw affine = draw_affine(augment, random);
  Json made = {{"angle", affine.angle},
               {"x", affine.x},
               {"y", affine.y},
               {"scale", affine.scale},
               {"shear_x", affine.shear_x},
               {"shear_y", affine.shear_y}};
  if (const auto corners = draw_perspective(augment, random)) {
    for (const auto& corner : *corners) made["corners"].push_back({corner.x, corner.y});
  }
  return made;
}

Json plan(const Json& asked) {
  const DetectionAugment augment = augment_of(asked.at("augment"));
  const SampleRandom random(asked.value("seed", 0U), 0, asked.at("sample"));
  ImageInfo info;
  info.width = asked.at("width");
  info.height = asked.at("height");
  info.orientation = asked.value("orientation", std::uint8_t{1});
  const bool turned = info.orientation >= 5;
  const auto width = static_cast<int>(turned ? info.height : info.width);
  const auto height = static_cast<int>(turned ? info.width : info.height);
  const Objects objects = objects_of(asked.at("objects"));
  const PicturePlan plan = plan_picture(augment, random, asked.value("number", 0U), width, height,
                                        upright_boxes(objects, info));
  Objects placed;
  add_objects(objects, info, plan, augment.size,
              {.min_side = asked.value("min_side", 0.0), .masks = TargetRules::Masks::kRunLengths},
              placed);
  return {{"draws", draws_of(augment, random)},
          {"matrix", plan.placement.matrix().m},
          {"shown", json_of(plan.placement.shown)},
          {"objects", json_of(placed)},
          {"pictures", pictures_of(augment, random)}};
}

void draw(const Json& options) {
  const std::string file{std::istreambuf_iterator<char>(std::cin),
                         std::istreambuf_iterator<char>()};
  const DetectionAugment augment = augment_of(options);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(augment.size.height) *
                                   static_cast<std::size_t>(augment.size.width) * 3);
  fill(pixels, augment.background);
  Decoder decoder;
  const auto bytes = packhorse::as_bytes(file);
  const ImageInfo info = decoder.header(bytes);
  const bool turned = info.orientation >= 5;
  const auto width = static_cast<int>(turned ? info.height : info.width);
  const auto height = static_cast<int>(turned ? info.width : info.height);
  const SampleRandom random(0, 0, options.at("sample"));
  const PicturePlan plan =
      plan_picture(augment, random, options.value("number", 0U), width, height, {});
  decoder.draw(bytes, info, plan.placement, plan.is_tile, {pixels, augment.size});
  std::fwrite(pixels.data(), 1, pixels.size(), stdout);
}

void compose(const Json& asked) {
  const auto dataset = Dataset::open(asked.at("dataset").get<std::string>());
  const LoaderOptions options{.augment = augment_of(asked),
                              .targets = TargetRules{.masks = TargetRules::Masks::kRunLengths}};
  options.validate();
  const auto& augment = std::get<DetectionAugment>(options.augment);
  const TargetsReader reader(*dataset);
  Decoder decoder;
  Composer composer(*dataset, options, &reader, decoder, [](auto&&...) {});
  const std::uint64_t sample = asked.at("sample");
  const SampleRandom random(asked.value("seed", 0U), 0, sample);
  Composer::Parts parts = composer.choose(random, sample);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(augment.size.height) *
                                   static_cast<std::size_t>(augment.size.width) * 3);
  PlacedTargets targets;
  composer.draw(parts, pixels, targets);
  std::ofstream file(asked.at("pixels").get<std::string>(), std::ios::binary);
  file.write(reinterpret_cast<const char*>(pixels.data()),
             static_cast<std::streamsize>(pixels.size()));
  Json made = {{"base", parts.base.samples}, {"objects", json_of(targets.objects)}};
  made["draws"] = draws_of(augment, random);
  made["pasted"] = parts.pasted ? Json(parts.pasted->samples) : Json::array();
  made["mixed"] = parts.mixed ? Json(parts.mixed->samples) : Json::array();
  for (std::size_t i = 0; i < parts.base.samples.size(); ++i) {
    const ImageInfo info = dataset->image(parts.base.samples[i]);
    const PicturePlan plan = plan_picture(augment, random, i, static_cast<int>(info.width),
                                          static_cast<int>(info.height), {});
    made["corners"].push_back({plan.placement.move_x, plan.placement.move_y});
  }
  std::cout << made.dump() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string what = argc >= 2 ? argv[1] : "";
    if (what == "plans") {
      for (std::string line; std::getline(std::cin, line);)
        std::cout << plan(Json::parse(line)).dump() << '\n';
    } else if (what == "compose") {
      compose(Json::parse(argc == 3 ? argv[2] : ""));
    } else {
      draw(Json::parse(argc == 3 ? argv[2] : ""));
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
