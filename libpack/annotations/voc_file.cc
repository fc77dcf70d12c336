#include "annotations/voc_file.h"

#include <fmt/format.h>
#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <memory>
#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "base/printable.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kLongestDeclaration = 200, kLongestName = 40;
constexpr std::size_t kMostGrowth = 4;  // bytes of UTF-8 for one of another encoding
constexpr const char* kSayEncoding =
    "save it as UTF-8, or let its first line say what it is in: <?xml version=\"1.0\" "
    "encoding=\"GB18030\"?>";

[[noreturn]] void refuse_text(const std::string& what, const char* advice) {
  throw Error(ErrorKind::kUnsupported, what, {}, advice);
}

std::size_t line_at(std::string_view text, std::size_t place) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, place), '\n'));
}

/// What <?xml ... encoding="NAME"?> says, in lower case; "" where it says nothing.
std::string declared_encoding(std::string_view text) {
  if (!text.starts_with("<?xml")) return {};
  text = text.substr(0, std::min(text.find("?>"), kLongestDeclaration));
  constexpr std::string_view kWord = "encoding";
  const std::size_t at = text.find(kWord);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + kWord.size());
  const std::size_t quote = text.find_first_of("\"'");
  if (quote == std::string_view::npos) return {};
  const std::size_t end = text.find(text[quote], quote + 1);
  if (end == std::string_view::npos) return {};
  return lower_case(text.substr(quote + 1, end - quote - 1));
}

/// iconv's names may ask for more than an encoding: "latin1//TRANSLIT".
bool is_plain_name(std::string_view name) {
  return name.size() <= kLongestName &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-.:") ==
             std::string_view::npos;
}

std::string converted(std::string_view bytes, const std::string& encoding) {
  const iconv_t opened = ::iconv_open("UTF-8", encoding.c_str());
  if (opened == iconv_t(-1))
    refuse_text("it is in " + printable(encoding) + ", which is not known here",
                "save it as UTF-8");
  const std::unique_ptr<void, int (*)(iconv_t)> closed(opened, ::iconv_close);
  std::string input(bytes), out;
  char* from = input.data();
  std::size_t left = input.size();
  std::array<char, 1 << 14> piece{};
  while (true) {
    char* to = piece.data();
    std::size_t room = piece.size();
    const bool last = left == 0;
    const std::size_t done = ::iconv(opened, last ? nullptr : &from, &left, &to, &room);
    const int error = done == static_cast<std::size_t>(-1) ? errno : 0;
    out.append(piece.data(), piece.size() - room);
    if (out.size() > kMostGrowth * bytes.size() + piece.size())
      refuse_text("it is too large in UTF-8", "save it as UTF-8");
    if (error != 0 && error != E2BIG)
      refuse_text(fmt::format("line {}: it says that it is in {}, and its bytes are not",
                              line_at(bytes, bytes.size() - left), printable(encoding)),
                  kSayEncoding);
    if (last && error == 0) return out;
  }
}

std::string checked(std::string_view text, const char* why) {
  if (is_utf8(text)) return std::string(text);
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view row = text.substr(0, text.find('\n'));
    if (!is_utf8(row)) refuse_text(fmt::format("line {}: {}", line, why), kSayEncoding);
    text.remove_prefix(std::min(row.size() + 1, text.size()));
  }
  refuse_text(why, kSayEncoding);
}

/// The text of an XML file in UTF-8, by its byte order mark or what its first line says of its
/// encoding, as iconv knows it; one that says nothing is UTF-8. Throws Error(kUnsupported), without
/// a path but with the line, for an encoding that is not known and for bytes that are not of it.
std::string xml_in_utf8(std::string_view bytes) {
  using namespace std::string_view_literals;
  const bool utf8 = bytes.starts_with(kByteOrderMark);
  if (!utf8) {
    for (const auto& [begin, encoding] :
         {std::pair("\xff\xfe\0\0"sv, "utf-32"), std::pair("\0\0\xfe\xff"sv, "utf-32"),
          std::pair("\xff\xfe"sv, "utf-16"), std::pair("\xfe\xff"sv, "utf-16"),
          std::pair("<\0?\0"sv, "utf-16le"), std::pair("\0<\0?"sv, "utf-16be"),
          std::pair("<\0a\0"sv, "utf-16le"), std::pair("\0<\0a"sv, "utf-16be")})
      if (bytes.starts_with(begin)) return converted(bytes, encoding);
  }
  const std::string_view text = without_byte_order_mark(bytes);
  const std::string encoding = declared_encoding(text);
  if (encoding.empty()) return checked(text, "it does not say what it is in, and it is not UTF-8");
  if (!is_plain_name(encoding))
    refuse_text("it is in '" + printable(encoding) + "', which is no encoding", kSayEncoding);
  if (encoding == "utf-8" || encoding == "utf8")
    return checked(text, "it says that it is in UTF-8, and it is not");
  // These have no bytes of one character that would spell out the name.
  const bool wide = encoding.starts_with("utf-16") || encoding.starts_with("utf16") ||
                    encoding.starts_with("utf-32") || encoding.starts_with("utf32") ||
                    encoding.starts_with("ucs") || encoding.starts_with("iso-10646");
  if (utf8 || wide)
    refuse_text("it says that it is in " + printable(encoding) + ", and its bytes are not",
                kSayEncoding);
  return converted(text, encoding);
}

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

/// Whether a node has several children of a name, of which one would be taken.
bool has_several(const pugi::xml_node& node, const char* child) {
  return !node.child(child).next_sibling(child).empty();
}

std::optional<double> number(const pugi::xml_node& node, const char* child) {
  if (has_several(node, child)) return std::nullopt;
  const std::string text = text_of(node.child(child));
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A side of the image; 0 where it is not said.
std::uint32_t extent(const pugi::xml_node& size, const char* child) {
  if (text_of(size.child(child)).empty() && !has_several(size, child)) return 0;
  const std::optional<double> value = number(size, child);
  if (!value || !(*value >= 0 && *value <= 1 << 30) || *value != std::floor(*value))
    throw Error(ErrorKind::kCorrupt, fmt::format("its {} is no whole number", child));
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

const char* problem_of(pugi::xml_parse_status status) {
  switch (status) {
    case pugi::status_end_element_mismatch:
      return "an element ends that did not begin, or the text ends too early";
    case pugi::status_bad_end_element:
      return "the end of an element is cut or has more than a name";
    case pugi::status_bad_attribute:
      return "an attribute is not name=\"value\"";
    default:
      return "this is not XML";
  }
}

pugi::xml_node root_of(const std::string& text, pugi::xml_document& document) {
  const pugi::xml_parse_result parsed = document.load_buffer(
      text.data(), text.size(), pugi::parse_default | pugi::parse_doctype | pugi::parse_fragment,
      pugi::encoding_utf8);
  if (!parsed)
    throw Error(ErrorKind::kCorrupt,
                fmt::format("not valid XML: line {}: {}",
                            1 + std::count(text.begin(), text.begin() + parsed.offset, '\n'),
                            problem_of(parsed.status)));
  std::size_t elements = 0;
  for (const pugi::xml_node& node : document.children()) {
    if (node.type() == pugi::node_element) ++elements;
    if (node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata)
      throw Error(ErrorKind::kCorrupt, "not valid XML: it has a text outside of its element");
    if (node.type() == pugi::node_doctype &&
        std::string_view(node.value()).find("<!ENTITY") != std::string_view::npos)
      throw Error(ErrorKind::kCorrupt, "it defines entities of its own");
  }
  const pugi::xml_node root = document.child("annotation");
  if (!root) throw Error(ErrorKind::kCorrupt, "it has no <annotation>");
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
  const auto trimmed = [&](std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    return text.substr(0, text.find_last_not_of(kBlanks) + 1);
  };
  std::string_view name = trimmed(line);
  for (std::size_t blank = name.find_last_of(kBlanks); blank != std::string_view::npos;
       blank = name.find_last_of(kBlanks)) {
    const std::string_view word = name.substr(blank + 1);
    const std::string_view digits = word.substr(word.starts_with('-') ? 1 : 0);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) break;
    name = trimmed(name.substr(0, blank));
  }
  return name;
}

}  // namespace packhorse
