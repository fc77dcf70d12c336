#pragma once

#include <string>
#include <string_view>

/// Names, and texts that hold names, made safe to show. A name may be any bytes. Control characters
/// would change the terminal, direction marks and invisible characters would show another name,
/// line breaks would begin a new line.
///
/// These are escaped: bytes that are not UTF-8 (RFC 3629), the control characters C0, DEL and C1,
/// the direction marks (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), line and
/// paragraph separators (U+2028, U+2029), and characters without width (soft hyphen, U+180E, U+200B
/// to U+200D, U+2060 to U+206F, U+FEFF, U+FFF9 to U+FFFB, tags). All other text stays as it is.
namespace packhorse {

/// Puts a name, such as a path, a key or a class, on one line: each byte of an escaped character
/// becomes \xNN (two hexadecimal digits, lower case), and a backslash becomes two. Different names
/// give different texts, and `printf %b` in a shell restores their bytes.
std::string printable(std::string_view name);

/// Does the same for a sentence that may hold names, but keeps backslashes, so that names already
/// made printable do not change. Hides secrets of addresses (without_secrets()).
std::string printable_text(std::string_view text);

/// Does the same for JSON that a library wrote, and keeps its meaning: escaped characters become
/// JSON's own \uNNNN, and bytes that are not UTF-8 become U+FFFD. White space between values stays.
std::string printable_json(std::string_view json);

/// Whether `text` is UTF-8 by the rules of RFC 3629.
bool is_utf8(std::string_view text);

/// The text without them, for all that is printed or published. In words (what blanks part), "..."
/// stands for
///
///  - what follows the ? of an address, which has a scheme: "https:/"; and a ? in later words, as
///    an address may be written with blanks;
///  - the user and the password of an address;
///  - all parameters of a word, ?a=1&token=SECRET, where the name of one holds `token`, `secret`,
///    `sig`, `pass`, `pwd`, `credential`, `auth`, `key`, `x-amz-` or `x-goog-`, in any letter case.
///
/// All other text stays, so "what.jpg?size=3" does. Doing it twice changes nothing.
std::string without_secrets(std::string_view text);

/// Whether a text has a user, or a parameter of such a name: other queries may be harmless.
bool has_secret(std::string_view text);

}  // namespace packhorse
