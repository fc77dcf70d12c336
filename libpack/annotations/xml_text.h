#pragma once

#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace packhorse {

/// The text of an XML file in UTF-8, by its byte order mark or what its first line says of its
/// encoding, as iconv knows it; one that says nothing is UTF-8. Throws Error(kUnsupported), without
/// a path but with the line, for an encoding that is not known and for bytes that are not of it.
std::string xml_in_utf8(std::string_view bytes);

/// Parses such a text into `document`; nothing outside of it is read. Returns its first element
/// that is called `name`. Throws Error(kCorrupt), without a path, for anything else, and for a text
/// that defines entities. Memory: some 100 bytes an element or attribute.
pugi::xml_node xml_root(const std::string& text, const char* name, pugi::xml_document& document);

}  // namespace packhorse
