#include <fmt/format.h>

#include <string_view>

#include "annotations/coco_file.h"
#include "annotations/coco_id_table.h"
#include "annotations/json_values.h"
#include "base/json_slices.h"
#include "base/printable.h"
#include "base/text.h"
#include "packhorse/base/error.h"
#include "packhorse/base/mapped_file.h"

namespace packhorse {

namespace {

/// The elements of one of the file's lists.
template <class Visit>
void for_each_record(std::string_view list, const char* what, const Visit& visit) {
  std::size_t number = 0;
  for_each_element(list, [&](std::string_view json) {
    ++number;
    try {
      visit(json);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      throw Error(ErrorKind::kCorrupt,
                  fmt::format("{} {} of its list: {}", what, number, error.what()));
    }
  });
}

std::vector<CocoCaption> captions_in(std::string_view text) {
  check_json(text);
  std::string_view images, annotations;
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (text[begin] == '{') {
    for_each_member(text, [&](std::string_view name, std::string_view value) {
      if (name == "\"images\"") images = value;
      if (name == "\"annotations\"") annotations = value;
      return true;
    });
  }
  if (!images.starts_with('[') || !annotations.starts_with('['))
    throw Error(ErrorKind::kCorrupt, "it has no list of \"images\", or none of \"annotations\"");
  struct Image {
    std::string file_name;
    std::vector<std::string> captions;
  };
  std::vector<Image> all;
  CocoIdTable by_id;
  for_each_record(images, "image", [&](std::string_view image) {
    const std::string id = id_of(value_of(image, "id"));
    if (!by_id.add(id, static_cast<std::uint32_t>(all.size())))
      throw Error(ErrorKind::kCorrupt, "the image id " + id + " is there twice");
    all.push_back({file_name_of(image), {}});
  });
  by_id.index_characters();
  for_each_record(annotations, "annotation", [&](std::string_view annotation) {
    const std::string id = id_of(value_of(annotation, "image_id"));
    const auto image = by_id.find(id);
    if (!image)
      throw Error(ErrorKind::kCorrupt,
                  "a caption is for the image " + printable(id) + ", which is not in its list");
    all[image->place].captions.push_back(in_one_line(text_of(annotation, "caption")));
  });
  std::vector<CocoCaption> captions;
  for (Image& image : all) {
    if (image.captions.empty()) captions.push_back({image.file_name, {}});
    for (std::string& caption : image.captions)
      captions.push_back({image.file_name, std::move(caption)});
  }
  return captions;
}

}  // namespace

std::vector<CocoCaption> read_coco_captions(const std::filesystem::path& path) {
  const MappedFile file(path);
  try {
    return captions_in(without_byte_order_mark(as_text(file.bytes())));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    throw Error(ErrorKind::kUsage, std::string("not COCO's file of captions: ") + error.what(),
                path, "correct it, or give a table, FILE:COLUMN");
  }
}

}  // namespace packhorse
