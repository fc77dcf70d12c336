// CVAT's XML for images (https://docs.cvat.ai/docs/manual/advanced/xml_format).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "annotations/exports/export_notation.h"
#include "annotations/xml_text.h"
#include "base/printable.h"
#include "base/stop.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostCvatBytes = std::size_t{512} << 20;
// A mask of a few numbers may have many pixels, which are drawn.
constexpr std::uint64_t kMostMaskPixels = std::uint64_t{1} << 28, kMaskPixelsPerByte = 1024;

std::optional<double> cvat_number(const pugi::xml_node& node, const char* name) {
  const auto numbers = numbers_in(node.attribute(name).value(), " ");
  return numbers && numbers->size() == 1 ? std::optional(numbers->front()) : std::nullopt;
}

double needed_number(const pugi::xml_node& node, const char* name) {
  if (const auto number = cvat_number(node, name)) return *number;
  throw Error(ErrorKind::kCorrupt, fmt::format("its {} is not a number", name));
}

std::uint32_t cvat_whole(const pugi::xml_node& node, const char* name) {
  const double number = needed_number(node, name);
  if (!(number >= 0 && number <= 1 << 30) || number != std::floor(number))
    throw Error(ErrorKind::kCorrupt, fmt::format("its {} is not a whole number", name));
  return static_cast<std::uint32_t>(number);
}

std::vector<Point> cvat_points(const pugi::xml_node& node) {
  const auto numbers = numbers_in(node.attribute("points").value(), ",; ");
  if (!numbers || numbers->size() % 2 != 0)
    throw Error(ErrorKind::kCorrupt, "its points are not x,y;x,y;...");
  std::vector<Point> points;
  for (std::size_t i = 0; i < numbers->size(); i += 2)
    points.push_back({(*numbers)[i], (*numbers)[i + 1]});
  return points;
}

void take_cvat_box(const pugi::xml_node& node, AnnotatedObject& object) {
  object.left = needed_number(node, "xtl");
  object.top = needed_number(node, "ytl");
  object.right = needed_number(node, "xbr");
  object.bottom = needed_number(node, "ybr");
  if (!node.attribute("rotation")) return;
  if (const double degrees = needed_number(node, "rotation"); degrees != 0)
    set_turned_box(object, {(object.left + object.right) / 2, (object.top + object.bottom) / 2},
                   degrees);
}

/// Runs in rows of a box, first those outside.
void take_cvat_mask(const pugi::xml_node& node, MaskSize size, std::uint64_t& budget,
                    AnnotatedObject& object) {
  const std::uint32_t left = cvat_whole(node, "left"), top = cvat_whole(node, "top");
  const std::uint32_t width = cvat_whole(node, "width"), height = cvat_whole(node, "height");
  if (width == 0 || height == 0 || left + width > size.width || top + height > size.height)
    throw Error(ErrorKind::kCorrupt, "its mask is empty, or beyond the image");
  const std::uint64_t pixels = std::uint64_t{width} * height;
  if (pixels > std::min(budget, kMostMaskPixels))
    throw Error(ErrorKind::kCorrupt, "the masks of the file are too large for its size");
  budget -= pixels;
  std::vector<bool> inside(pixels);
  std::uint64_t at = 0;
  bool on = false;
  const auto runs = numbers_in(node.attribute("rle").value(), ", ");
  if (!runs) throw Error(ErrorKind::kCorrupt, "its rle is not a list of numbers");
  for (const double run : *runs) {
    if (!(run >= 0 && run <= static_cast<double>(pixels - at)) || run != std::floor(run))
      throw Error(ErrorKind::kCorrupt, "its runs are more than its mask has pixels");
    const auto end = at + static_cast<std::uint64_t>(run);
    std::fill(inside.begin() + static_cast<std::ptrdiff_t>(at),
              inside.begin() + static_cast<std::ptrdiff_t>(end), on);
    at = end;
    on = !on;
  }
  if (at != pixels) throw Error(ErrorKind::kCorrupt, "its runs are fewer than its mask has pixels");
  RunWriter columns;
  columns.add(false, std::uint64_t{left} * size.height);
  for (std::uint32_t x = 0; x < width; ++x) {
    columns.add(false, top);
    for (std::uint32_t y = 0; y < height; ++y) columns.add(inside[std::uint64_t{y} * width + x], 1);
    columns.add(false, size.height - top - height);
  }
  columns.add(false, std::uint64_t{size.width - left - width} * size.height);
  object.mask = {std::move(columns).take(), size};
  const Box box = box_of(object.mask->counts, size);
  object.left = box.left;
  object.top = box.top;
  object.right = box.right;
  object.bottom = box.bottom;
}

class CvatReader {
 public:
  CvatReader(std::size_t bytes, ExportedImages& out)
      : budget_(kMostMaskPixels + kMaskPixelsPerByte * bytes), out_(out) {}

  /// Names that several images have stand in folders of their subsets.
  void name_image(const pugi::xml_node& node) { ++names_[node.attribute("name").value()]; }

  void take_image(const pugi::xml_node& node) {
    std::string name = node.attribute("name").value();
    if (name.empty()) throw Error(ErrorKind::kCorrupt, "an <image> has no name");
    const std::string subset = node.attribute("subset").value();
    if (names_[name] > 1 && !subset.empty()) name = subset + '/' + name;
    const std::size_t before = out_.images().size();
    ExportedImages::Image& image = out_.image(name);
    if (out_.images().size() == before) image.problem("its annotations", "they are there twice");
    if (node.attribute("width") || node.attribute("height"))
      image.set_size(cvat_whole(node, "width"), cvat_whole(node, "height"));
    std::size_t number = 0;
    for (const pugi::xml_node& shape : node.children()) {
      if (shape.type() != pugi::node_element) continue;
      const std::string kind = shape.name();
      if (kind == "tag") {
        out_.pass_over("tags of images");
        continue;
      }
      const std::string called = fmt::format("{} {}", printable(kind), ++number);
      try {
        take_shape(shape, kind, image, called);
      } catch (const Error& error) {
        image.problem(called, error.what());
      }
    }
  }

 private:
  void take_shape(const pugi::xml_node& shape, const std::string& kind,
                  ExportedImages::Image& image, const std::string& called) {
    AnnotatedObject object;
    if (kind == "box") {
      take_cvat_box(shape, object);
    } else if (kind == "polygon") {
      object.polygons.push_back(cvat_points(shape));
      box_from_polygons(object);
    } else if (kind == "mask") {
      take_cvat_mask(shape, {image.height(), image.width()}, budget_, object);
    } else {
      throw Error(ErrorKind::kCorrupt, "it is neither a box, a polygon nor a mask");
    }
    if (cvat_number(shape, "occluded").value_or(0) != 0) object.flags |= kOccluded;
    ExactJson attributes;
    for (const pugi::xml_node& one : shape.children("attribute"))
      attributes[one.attribute("name").value()] = one.text().get();
    out_.add(image, shape.attribute("label").value(), object, called, attributes);
  }

  std::uint64_t budget_;  ///< pixels of masks
  std::unordered_map<std::string, std::size_t> names_;
  ExportedImages& out_;
};

}  // namespace

void read_cvat(const ExportFile& file, ExportedImages& out) {
  if (file.text.size() > kMostCvatBytes)
    throw Error(ErrorKind::kCorrupt, "it is larger than 512 MiB");
  const std::string text = xml_in_utf8(file.text);
  pugi::xml_document document;
  const pugi::xml_node root = xml_root(text, "annotations", document);
  if (root.next_sibling("annotations"))
    throw Error(ErrorKind::kCorrupt, "it has several <annotations>");
  if (root.child("track"))
    throw Error(ErrorKind::kUnsupported,
                "it has tracks of a video: export the task as 'CVAT for images'");
  for (const pugi::xml_node& part : root.child("meta").children())
    for (const pugi::xml_node& label : part.child("labels").children("label")) {
      const std::string_view name = label.child_value("name");
      if (!name.empty() && std::string_view(label.child_value("type")) != "tag")
        out.add_class(name);
    }
  CvatReader reader(file.text.size(), out);
  for (const pugi::xml_node& image : root.children("image")) reader.name_image(image);
  for (const pugi::xml_node& image : root.children("image")) {
    obey_stop();
    reader.take_image(image);
  }
}

}  // namespace packhorse
