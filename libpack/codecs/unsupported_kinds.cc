#include <algorithm>
#include <array>

#include "base/text.h"
#include "codecs/cursor.h"

namespace packhorse {

namespace {

using codecs::Cursor;

struct Magic {
  std::string_view kind;
  std::size_t at;
  std::string_view bytes;
};

/// Taken from the kinds' specifications, as libmagic has them.
constexpr std::array kMagics = {
    Magic{"JPEG 2000", 0, std::string_view("\0\0\0\x0cjP  \r\n\x87\n", 12)},
    Magic{"JPEG 2000", 0, "\xff\x4f\xff\x51"},
    Magic{"JPEG XR", 0, "II\xbc"},
    Magic{"BigTIFF", 0, std::string_view("II+\0", 4)},
    Magic{"BigTIFF", 0, std::string_view("MM\0+", 4)},
    Magic{"PAM", 0, "P7\n"},
    Magic{"PFM", 0, "PF\n"},
    Magic{"PFM", 0, "Pf\n"},
    Magic{"PSD", 0, "8BPS"},
    Magic{"XCF", 0, "gimp xcf"},
    Magic{"OpenEXR", 0, "\x76\x2f\x31\x01"},
    Magic{"Radiance HDR", 0, "#?RADIANCE"},
    Magic{"QOI", 0, "qoif"},
    Magic{"DDS", 0, "DDS "},
    Magic{"DICOM", 128, "DICM"},
    Magic{"SVG", 0, "<svg"},
};

struct Extension {
  std::string_view name, kind;
};

constexpr std::array kExtensions = {
    Extension{"cur", "ICO"},       Extension{"dcm", "DICOM"},     Extension{"dds", "DDS"},
    Extension{"exr", "OpenEXR"},   Extension{"ico", "ICO"},       Extension{"j2c", "JPEG 2000"},
    Extension{"j2k", "JPEG 2000"}, Extension{"jp2", "JPEG 2000"}, Extension{"jpf", "JPEG 2000"},
    Extension{"jpx", "JPEG 2000"}, Extension{"jxr", "JPEG XR"},   Extension{"pam", "PAM"},
    Extension{"pfm", "PFM"},       Extension{"psd", "PSD"},       Extension{"qoi", "QOI"},
    Extension{"svg", "SVG"},       Extension{"svgz", "SVG"},      Extension{"tga", "TGA"},
    Extension{"xcf", "XCF"},
};

/// Four bytes say too little: the first entry of the directory must make sense, too.
bool is_icon(Bytes head) {
  const Cursor little(head, false);
  const std::uint32_t type = little.u16(2).value_or(0), count = little.u16(4).value_or(0);
  return little.u16(0) == 0u && (type == 1 || type == 2) && count > 0 && little.u8(9) == 0u &&
         little.u32(18) == 6 + 16 * count;
}

}  // namespace

std::string_view unsupported_kind(Bytes head) {
  const Cursor cursor(head);
  for (const Magic& magic : kMagics) {
    if (cursor.has(magic.at, magic.bytes)) return magic.kind;
  }
  return is_icon(head) ? "ICO" : "";
}

std::string_view unsupported_kind_by_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string extension = lower_case(name.substr(dot + 1));
  const auto found = std::ranges::find(kExtensions, extension, &Extension::name);
  return found != kExtensions.end() ? found->kind : std::string_view();
}

}  // namespace packhorse
