#include "annotations/voc_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "annotations/xml_text.h"
#include "base/printable.h"
#include "base/text.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostBytes = 4u << 20;

/// A node's characters, also those behind a comment in it, without blanks around them.
std::string text_of(const pugi::xml_node& node) {
  std::string text;
  for (const pugi::xml_node& part : node.children())
    if (part.type() == pugi::node_pcdata || part.type() == pugi::node_cdata) text += part.value();
  return std::string(trimmed(text));
}

/// Whether a node has several children of a name, of which one would be taken.
bool has_several(const pugi::xml_node& node, const char* child) {
  return !node.child(child).next_sibling(child).empty();
}

std::optional<double> number(const pugi::xml_node& node, const char* child) {
  if (has_several(node, child)) return std::nullopt;
  return parse_number<double>(text_of(node.child(child)));
}

/// A side of the image; 0 where it is not said.
std::uint32_t extent(const pugi::xml_node& size, const char* child) {
  if (text_of(size.child(child)).empty() && !has_several(size, child)) return 0;
  const std::optional<double> value = number(size, child);
  if (!value || !(*value >= 0 && *value <= 1 << 30) || *value != std::floor(*value))
    throw Error(ErrorKind::kCorrupt, fmt::format("its {} is not a whole number", child));
  return static_cast<std::uint32_t>(*value);
}

/// The corners as they are written.
bool take_box(const pugi::xml_node& box, AnnotatedObject& object) {
  const auto left = number(box, "xmin"), top = number(box, "ymin");
  const auto right = number(box, "xmax"), bottom = number(box, "ymax");
  if (!left || !top || !right || !bottom) return false;
  object.left = *left;
  object.top = *top;
  object.right = *right;
  object.bottom = *bottom;
  return true;
}

/// Whether a box cannot count from 1: no pixel is before the first.
bool counts_from_zero(const AnnotatedObject& box) {
  return box.left >= 0 && box.top >= 0 && std::min(box.left, box.top) < 1 && box.left < box.right &&
         box.top < box.bottom;
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

constexpr const char* kObject = "object";

/// Refuses objects that would be passed over: those that are not children of the root, and those
/// with a prefix or in other letter case, which XML takes for other elements.
void refuse_other_objects(const pugi::xml_node& root) {
  const pugi::xml_node other = root.find_node([&](const pugi::xml_node& node) {
    const std::string_view name = node.name();
    const bool object = lower_case(name.substr(name.rfind(':') + 1)) == kObject;
    return object && (name != kObject || node.parent() != root);
  });
  if (other.empty()) return;
  if (std::string_view(other.name()) == kObject)
    throw Error(ErrorKind::kCorrupt, "it has an <object> that lies in another element");
  throw Error(ErrorKind::kCorrupt,
              fmt::format("it has an <{}>, which VOC calls <object>", printable(other.name())));
}

pugi::xml_node root_of(const std::string& text, pugi::xml_document& document) {
  const pugi::xml_node root = xml_root(text, "annotation", document);
  const auto elements =
      std::ranges::count(document.children(), pugi::node_element, &pugi::xml_node::type);
  if (elements > 1 || has_several(root, "size"))
    throw Error(ErrorKind::kCorrupt, "it has several annotations or sizes");
  refuse_other_objects(root);
  return root;
}

}  // namespace

VocFile parse_voc(std::string_view xml, bool from_zero) {
  if (xml.size() > kMostBytes) throw Error(ErrorKind::kCorrupt, "it is larger than 4 MiB");
  const std::string text = xml_in_utf8(xml);
  pugi::xml_document document;
  const pugi::xml_node root = root_of(text, document);
  VocFile file;
  file.file_name = root.child("filename").text().get();
  file.width = extent(root.child("size"), "width");
  file.height = extent(root.child("size"), "height");
  const bool from_one = number(root, kFirstPixel) == 1;
  std::size_t count = 0;
  for (const pugi::xml_node& node : root.children(kObject)) {
    const std::string name = fmt::format("object {}", ++count);
    VocFile::Object object{text_of(node.child("name")), {}};
    if (has_several(node, "name") || has_several(node, "bndbox")) {
      file.problems.push_back(name + ": it has several names or boxes");
    } else if (object.name.empty()) {
      file.problems.push_back(name + ": it has no class");
    } else if (!is_utf8(object.name)) {
      file.problems.push_back(name + ": its class has a character that XML cannot have");
    } else if (!take_box(node.child("bndbox"), object.object)) {
      file.problems.push_back(name + ": it has no box");
    } else {
      file.from_zero = !from_one && (file.from_zero || counts_from_zero(object.object));
      if (from_one || !from_zero) {
        object.object.left -= 1;
        object.object.top -= 1;
      }
      object.object.flags = flags_of(node);
      file.objects.push_back(std::move(object));
    }
  }
  return file;
}

std::string_view voc_list_member(std::string_view line) {
  constexpr std::string_view kBlanks = " \t";
  std::string_view name = trimmed(line, kBlanks);
  for (std::size_t blank = name.find_last_of(kBlanks); blank != std::string_view::npos;
       blank = name.find_last_of(kBlanks)) {
    const std::string_view word = name.substr(blank + 1);
    const std::string_view digits = word.substr(word.starts_with('-') ? 1 : 0);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) break;
    name = trimmed(name.substr(0, blank), kBlanks);
  }
  return name;
}

}  // namespace packhorse
