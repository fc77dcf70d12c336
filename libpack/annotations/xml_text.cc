#include "annotations/xml_text.h"

#include <fmt/format.h>
#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "base/printable.h"
#include "base/text.h"
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
    if (!is_utf8(take_part(text, '\n')))
      refuse_text(fmt::format("line {}: {}", line, why), kSayEncoding);
  }
  refuse_text(why, kSayEncoding);
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

}  // namespace

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
    refuse_text("it is in '" + printable(encoding) + "', which is not an encoding", kSayEncoding);
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

pugi::xml_node xml_root(const std::string& text, const char* name, pugi::xml_document& document) {
  const pugi::xml_parse_result parsed = document.load_buffer(
      text.data(), text.size(), pugi::parse_default | pugi::parse_doctype | pugi::parse_fragment,
      pugi::encoding_utf8);
  if (!parsed)
    throw Error(ErrorKind::kCorrupt,
                fmt::format("not valid XML: line {}: {}",
                            1 + std::count(text.begin(), text.begin() + parsed.offset, '\n'),
                            problem_of(parsed.status)));
  for (const pugi::xml_node& node : document.children()) {
    if (node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata)
      throw Error(ErrorKind::kCorrupt, "not valid XML: it has a text outside of its element");
    if (node.type() == pugi::node_doctype &&
        std::string_view(node.value()).find("<!ENTITY") != std::string_view::npos)
      throw Error(ErrorKind::kCorrupt, "it defines entities of its own");
  }
  const pugi::xml_node root = document.child(name);
  if (!root) throw Error(ErrorKind::kCorrupt, fmt::format("it has no <{}>", name));
  return root;
}

}  // namespace packhorse
