// Prints what packhorse finds in annotation files, a JSON object a line, for comparison with other
// people's readers:
//   objects_probe coco FILE                      each image: file_name, objects, problems
//   objects_probe yolo WIDTH HEIGHT CLASSES KEYPOINTS NUMBERS FILE...
//   objects_probe voc CLASS,CLASS,... FILE...
// "many" before these: they go on behind a file that is refused, and print {"error"} for it.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "annotations/coco_file.h"
#include "annotations/voc_file.h"
#include "annotations/yolo_labels.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

using Json = nlohmann::ordered_json;

RunLengths mask_of(const Objects& objects, std::size_t i, MaskSize size) {
  if (!objects.runs.empty() && objects.runs[i] != objects.runs[i + 1]) {
    const auto counts = std::span(objects.counts);
    const auto own = counts.subspan(objects.runs[i], objects.runs[i + 1] - objects.runs[i]);
    return {own.begin(), own.end()};
  }
  RunLengths merged;
  for (std::uint32_t p = objects.polygons[i]; p < objects.polygons[i + 1]; ++p) {
    const auto corners = std::span(objects.outlines)
                             .subspan(objects.points[p], objects.points[p + 1] - objects.points[p]);
    const RunLengths one = fill_polygon(corners, size);
    merged = merged.empty() ? one : merge_masks(merged, one);
  }
  return merged;
}

bool has_mask(const Objects& objects, std::size_t i) {
  const auto has = [&](const std::vector<std::uint32_t>& offsets) {
    return !offsets.empty() && offsets[i] != offsets[i + 1];
  };
  return has(objects.polygons) || has(objects.runs);
}

Json mask_json(const Objects& objects, std::size_t i, MaskSize size) {
  const RunLengths runs = mask_of(objects, i, size);
  const Box box = box_of(runs, size);
  std::vector<std::uint8_t> pixels(size.pixels());
  draw_mask(runs, size, pixels);
  std::uint64_t drawn = 0, hash = 1469598103934665603u;  // FNV-1a
  for (const std::uint8_t pixel : pixels) {
    drawn += pixel;
    hash = (hash ^ pixel) * 1099511628211u;
  }
  return {{"counts", run_lengths_text(runs)},
          {"area", area_of(runs)},
          {"drawn", drawn},
          {"hash", hash},
          {"box", {box.left, box.top, box.right - box.left, box.bottom - box.top}}};
}

void print(const std::string& name, ObjectBuilder& builder, MaskSize size) {
  const std::vector<std::string> problems = builder.problems();
  const Objects objects = decode_objects(encode_objects(builder.take()));
  Json all = Json::array();
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const Box& box = objects.boxes[i];
    Json one = {{"box", {box.left, box.top, box.right, box.bottom}},
                {"label", objects.labels[i]},
                {"flags", objects.flags[i]}};
    if (!objects.areas.empty()) one["area"] = objects.areas[i];
    if (has_mask(objects, i)) one["mask"] = mask_json(objects, i, size);
    if (!objects.keypoints_each.empty()) {
      Json points = Json::array();
      for (std::uint32_t k = 0; k < objects.keypoints_each[0]; ++k) {
        const Keypoint& p = objects.keypoints[i * objects.keypoints_each[0] + k];
        points.insert(points.end(), {p.x, p.y, p.visibility});
      }
      one["keypoints"] = points;
    }
    all.push_back(one);
  }
  std::cout << Json{{"name", name}, {"objects", all}, {"problems", problems}}.dump() << '\n';
}

bool goes_on = false;

/// Calls `show` for a file, and prints why it is refused.
template <class Show>
void for_file(const char* path, const Show& show) {
  if (!goes_on) return show(path);
  try {
    show(path);
  } catch (const Error& error) {
    std::cout << Json{{"name", path}, {"error", error.what()}}.dump() << '\n';
  }
}

void coco(const char* path) {
  const CocoFile file(path);
  std::cout << Json{{"classes", file.classes()},
                    {"keypoints", file.keypoint_names()},
                    {"notes", file.notes()}}
                   .dump()
            << '\n';
  for (const CocoFile::Image& image : file.images()) {
    ObjectBuilder builder(
        {image.width, image.height, file.classes().size(), file.keypoint_names().size()});
    file.add_objects(image, builder);
    print(image.file_name, builder, {image.height, image.width});
  }
}

void cocos(char** paths) {
  for (; *paths != nullptr; ++paths) for_file(*paths, coco);
}

void yolo(char** arguments) {
  const auto number = [&](int i) { return static_cast<std::uint32_t>(std::atoi(arguments[i])); };
  const AnnotationFrame frame = {number(0), number(1), number(2), number(3)};
  for (char** path = arguments + 5; *path != nullptr; ++path) {
    ObjectBuilder builder(frame);
    const MappedFile file{std::filesystem::path(*path)};
    add_yolo_objects(as_text(file.bytes()), frame, {number(3), number(4)}, builder);
    print(*path, builder, {frame.height, frame.width});
  }
}

/// The file as a set of its own, which alone says whether its corners count from 0.
void voc_file(const char* path, const std::vector<std::string>& classes) {
  const MappedFile bytes{std::filesystem::path(path)};
  const bool from_zero = parse_voc(as_text(bytes.bytes())).from_zero;
  const VocFile file = parse_voc(as_text(bytes.bytes()), from_zero);
  ObjectBuilder builder({file.width, file.height, classes.size(), 0});
  for (const std::string& problem : file.problems) builder.problem("file", problem);
  for (VocFile::Object object : file.objects) {
    object.object.label = std::find(classes.begin(), classes.end(), object.name) - classes.begin();
    builder.add(object.object, object.name);
  }
  print(path, builder, {file.height, file.width});
}

void voc(char** arguments) {
  std::vector<std::string> classes;
  for (std::string_view rest = arguments[0]; !rest.empty();) {
    classes.emplace_back(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(classes.back().size() + 1, rest.size()));
  }
  for (char** path = arguments + 1; *path != nullptr; ++path) {
    for_file(*path, [&](const char* name) { voc_file(name, classes); });
  }
}

}  // namespace

}  // namespace packhorse

int main(int count, char** arguments) try {
  if (count > 1 && std::string_view(arguments[1]) == "many") {
    packhorse::goes_on = true;
    --count;
    ++arguments;
  }
  const std::string_view kind = count > 2 ? arguments[1] : "";
  if (kind == "coco")
    packhorse::cocos(arguments + 2);
  else if (kind == "yolo" && count > 7)
    packhorse::yolo(arguments + 2);
  else if (kind == "voc" && count > 3)
    packhorse::voc(arguments + 2);
  else
    return 2;
} catch (const packhorse::Error& error) {
  std::cerr << error.path().string() << ": " << error.what() << '\n';
  return 1;
}
