#include "annotations/voc_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <pugixml.hpp>

#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostBytes = 4u << 20;
constexpr const char* kXmlBlanks = " \t\r\n";

/// A node's characters, also those behind a comment in it, without blanks around them.
std::string text_of(const pugi::xml_node& node) {
  std::string text;
  for (const pugi::xml_node& part : node.children())
    if (part.type() == pugi::node_pcdata || part.type() == pugi::node_cdata) text += part.value();
  text.erase(text.find_last_not_of(kXmlBlanks) + 1);
  return text.erase(0, std::min(text.find_first_not_of(kXmlBlanks), text.size()));
}

std::optional<double> number(const pugi::xml_node& node, const char* child) {
  const std::string text = text_of(node.child(child));
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::uint32_t extent(const pugi::xml_node& size, const char* child) {
  const std::optional<double> value = number(size, child);
  return value && *value >= 1 && *value <= 1 << 30 ? static_cast<std::uint32_t>(*value) : 0;
}

/// Whether a node has several children of a name, of which one would be taken.
bool has_several(const pugi::xml_node& node, const char* child) {
  return !node.child(child).next_sibling(child).empty();
}

/// The first and last pixels of a box, counted from 1, as the edges around them, counted from 0.
bool take_box(const pugi::xml_node& box, AnnotatedObject& object) {
  const auto left = number(box, "xmin"), top = number(box, "ymin");
  const auto right = number(box, "xmax"), bottom = number(box, "ymax");
  if (!left || !top || !right || !bottom) return false;
  object.left = *left - 1;
  object.top = *top - 1;
  object.right = *right;
  object.bottom = *bottom;
  return true;
}

std::uint8_t flags_of(const pugi::xml_node& object) {
  constexpr std::pair<const char*, ObjectFlag> kFlags[] = {
      {"difficult", kDifficult}, {"truncated", kTruncated}, {"occluded", kOccluded}};
  std::uint8_t flags = 0;
  for (const auto& [name, flag] : kFlags) {
    if (number(object, name).value_or(0) != 0) flags |= flag;
  }
  return flags;
}

}  // namespace

VocFile parse_voc(std::string_view xml) {
  if (xml.size() > kMostBytes) throw Error(ErrorKind::kCorrupt, "it is larger than 4 MiB");
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(xml.data(), xml.size());
  if (!parsed)
    throw Error(ErrorKind::kCorrupt,
                fmt::format("not valid XML: {} at byte {}", parsed.description(), parsed.offset));
  const pugi::xml_node root = document.child("annotation");
  if (!root) throw Error(ErrorKind::kCorrupt, "it has no <annotation>");
  VocFile file;
  file.file_name = root.child("filename").text().get();
  file.width = extent(root.child("size"), "width");
  file.height = extent(root.child("size"), "height");
  std::size_t count = 0;
  for (const pugi::xml_node& node : root.children("object")) {
    const std::string name = fmt::format("object {}", ++count);
    VocFile::Object object{text_of(node.child("name")), {}};
    if (has_several(node, "name") || has_several(node, "bndbox")) {
      file.problems.push_back(name + ": it has several names or boxes");
    } else if (object.name.empty()) {
      file.problems.push_back(name + ": it has no class");
    } else if (!take_box(node.child("bndbox"), object.object)) {
      file.problems.push_back(name + ": it has no box");
    } else {
      object.object.flags = flags_of(node);
      file.objects.push_back(std::move(object));
    }
  }
  return file;
}

}  // namespace packhorse
