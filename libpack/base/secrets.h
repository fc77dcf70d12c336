#pragma once

#include <string>
#include <string_view>

/// Secrets in addresses: https://user:password@host/1.jpg?token=SECRET, and 1.jpg?sig=SECRET.
namespace packhorse {

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
