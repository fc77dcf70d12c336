#include "annotations/write/voc_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <pugixml.hpp>
#include <sstream>

#include "annotations/voc_file.h"
#include "annotations/write/object_parts.h"
#include "base/printable.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

bool is_whole(double value) { return value == std::floor(value); }

void add_text(pugi::xml_node& parent, const char* name, const std::string& text) {
  parent.append_child(name).text().set(text.c_str());
}

void add_flag(pugi::xml_node& object, const char* name, bool set) {
  add_text(object, name, set ? "1" : "0");
}

void add_object(pugi::xml_node& root, const ObjectParts& object, const std::string& name,
                Unsaid& unsaid) {
  pugi::xml_node node = root.append_child("object");
  add_text(node, "name", name);
  add_flag(node, "truncated", (object.flags & kTruncated) != 0);
  add_flag(node, "occluded", (object.flags & kOccluded) != 0);
  add_flag(node, "difficult", (object.flags & kDifficult) != 0);
  pugi::xml_node box = node.append_child("bndbox");
  const double left = object.box.left, top = object.box.top;
  const double corners[] = {left + 1, top + 1, object.box.right, object.box.bottom};
  const char* const names[] = {"xmin", "ymin", "xmax", "ymax"};
  for (std::size_t i = 0; i < std::size(corners); ++i)
    add_text(box, names[i], fmt::format("{}", corners[i]));
  if (!std::ranges::all_of(corners, is_whole))
    ++unsaid["boxes with fractions of pixels, which others may refuse"];
  if (!object.area.empty()) ++unsaid["areas"];
  if (object.polygons() > 0) ++unsaid["outlines, written as boxes"];
  if (!object.counts.empty()) ++unsaid["masks of run lengths, written as boxes"];
  // All objects of a dataset have room for some.
  if (std::ranges::any_of(object.keypoints, [](const auto& one) { return one.visibility != 0; }))
    ++unsaid["objects with key points, written as boxes"];
}

/// Whether a text that VOC's objects were told by says the same without the files of its source,
/// which may have said that corners count from 0.
bool stands_alone(std::string_view text, const Objects& objects) {
  const VocFile file = parse_voc(text, parse_voc(text).from_zero);
  return std::ranges::equal(file.objects, objects.boxes,
                            [](const VocFile::Object& one, const Box& box) {
                              return static_cast<float>(one.object.left) == box.left &&
                                     static_cast<float>(one.object.top) == box.top;
                            });
}

bool begins_before_the_image(const Objects& objects) {
  return std::ranges::any_of(objects.boxes,
                             [](const Box& box) { return std::min(box.left, box.top) < 0; });
}

/// A name with a line break is two lines of a list, one that ends in a number another name.
void refuse_unlisted(const fs::path& place) {
  const std::string name = fs::path(place).replace_extension();
  if (voc_list_member(name) == name && name.find_first_of("\r\n") == std::string::npos) return;
  throw Error(ErrorKind::kUnsupported,
              "VOC's lists of images, a name a line, cannot hold '" + printable(name) + "'", {},
              "unpack as coco or as a folder, or rename the image and pack again");
}

fs::path names_file(const NotedDataset& dataset) {
  const std::string name = dataset.split.empty() ? "trainval" : dataset.split;
  make_directories(dataset.out / "ImageSets" / "Main");
  return dataset.out / "ImageSets" / "Main" / (name + ".txt");
}

}  // namespace

VocWriter::VocWriter(const NotedDataset& dataset) : dataset_(dataset), names_(names_file(dataset)) {
  for (const std::string& name : dataset.target.classes) {
    const bool control =
        std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
    if (name.empty() || control || name.find_first_not_of(' ') == std::string::npos)
      throw Error(ErrorKind::kUnsupported,
                  "a class that XML cannot hold: '" + printable(name) + "'", {},
                  "unpack as coco or yolo");
  }
}

std::optional<NotationWriter::OwnFile> VocWriter::own_file(const NotedSample& sample,
                                                           Unsaid& unsaid) const {
  refuse_unlisted(sample.place);
  const fs::path path = (fs::path("Annotations") / sample.place).replace_extension(".xml");
  const bool has_text = dataset_.target.text == "xml" && !sample.text.empty();
  const bool keeps_text = has_text && stands_alone(sample.text, sample.objects);
  if (keeps_text) return OwnFile{path, std::string(sample.text)};
  if (has_text) ++unsaid["annotations whose corners count from 0, made anew to count from 1"];
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("annotation");
  add_text(root, "filename", sample.place.filename());
  pugi::xml_node size = root.append_child("size");
  add_text(size, "width", std::to_string(sample.image.width));
  add_text(size, "height", std::to_string(sample.image.height));
  add_text(size, "depth", std::to_string(sample.image.components));
  if (has_text || begins_before_the_image(sample.objects)) add_text(root, kFirstPixel, "1");
  for (std::size_t i = 0; i < sample.objects.size(); ++i) {
    const ObjectParts object(sample.objects, i);
    if ((object.flags & kCrowd) != 0)
      ++unsaid["crowds, left out"];
    else
      add_object(root, object, dataset_.target.classes.at(static_cast<std::size_t>(object.label)),
                 unsaid);
  }
  std::ostringstream text;
  document.save(text, "  ", pugi::format_default | pugi::format_no_declaration);
  return OwnFile{path, text.str()};
}

void VocWriter::add(const NotedSample& sample) {
  fs::path name = sample.place;
  names_.write(as_bytes(name.replace_extension().native() + "\n"));
}

std::uint64_t VocWriter::finish() {
  names_.commit();
  return names_.position();
}

}  // namespace packhorse
