// CreateML's JSON (https://developer.apple.com/documentation/createml/building-an-object-detector-
// data-source): x and y are the centre of a box, in pixels.
#include <fmt/format.h>

#include "annotations/exports/export_notation.h"
#include "annotations/json_values.h"
#include "base/json_slices.h"
#include "base/stop.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

void read_create_ml_image(std::string_view entry, ExportedImages& out) {
  const bool newer = !find_value(entry, "imagefilename").empty();
  const std::size_t before = out.images().size();
  ExportedImages::Image& image = out.image(text_of(entry, newer ? "imagefilename" : "image"));
  if (out.images().size() == before) image.problem("its annotations", "they are there twice");
  const bool plural = !find_value(entry, "annotations").empty();
  std::size_t number = 0;
  for (const std::string_view one :
       list_of(value_of(entry, plural ? "annotations" : "annotation"), "annotations")) {
    const std::string name = fmt::format("annotation {}", ++number);
    try {
      const std::string_view box = value_of(one, "coordinates");
      const auto value = [&](const char* side) { return number_of(value_of(box, side), side); };
      AnnotatedObject object;
      object.left = value("x") - value("width") / 2;
      object.top = value("y") - value("height") / 2;
      object.right = object.left + value("width");
      object.bottom = object.top + value("height");
      out.add(image, text_of(one, "label"), object, name);
    } catch (const Error& error) {
      image.problem(name, error.what());
    }
  }
}

}  // namespace

void read_create_ml(const ExportFile& file, ExportedImages& out) {
  check_json(file.text);
  const std::size_t begin = file.text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (begin == std::string_view::npos || file.text[begin] != '[')
    throw Error(ErrorKind::kUnsupported, "it is not a list of images");
  std::size_t number = 0;
  for_each_element(file.text, [&](std::string_view json) {
    ++number;
    obey_stop();
    try {
      read_create_ml_image(json, out);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      throw Error(ErrorKind::kCorrupt, fmt::format("image {}: {}", number, error.what()));
    }
  });
}

}  // namespace packhorse
