#pragma once

#include <string>
#include <string_view>

/// Names, and texts that hold names, made safe to show. A name may be any bytes: control characters
/// would steer the terminal, direction marks and invisible characters would show another name than
/// the one that is there, line breaks would begin a line of their own.
///
/// Escaped are: bytes that are no UTF-8 (RFC 3629), the control characters C0, DEL and C1, the
/// direction marks (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), line and paragraph
/// separators (U+2028, U+2029), and what has no width (soft hyphen, U+180E, U+200B to U+200D,
/// U+2060 to U+206F, U+FEFF, U+FFF9 to U+FFFB, tags). All other text stays as it is.
namespace packhorse {

/// A name, such as a path, a key or a class, on one line: each byte of what is escaped becomes \xNN
/// (two hexadecimal digits, lower case), and a backslash becomes two. So each name has a text of
/// its own, which tells its bytes: `printf %b` in a shell gives them back.
std::string printable(std::string_view name);

/// A sentence that may hold names, on one line: as above, but backslashes stay, so that names that
/// are printable already do not change.
std::string printable_text(std::string_view text);

/// JSON as a library wrote it, the same document: what is escaped above becomes JSON's own \uNNNN,
/// and what is no UTF-8 becomes U+FFFD. White space between values stays.
std::string printable_json(std::string_view json);

/// By RFC 3629.
bool is_utf8(std::string_view text);

}  // namespace packhorse
