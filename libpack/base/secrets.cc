#include <algorithm>
#include <cctype>

#include "base/printable.h"
#include "base/text.h"

namespace packhorse {

namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::string_view kBlanks = " \t\r\n\v\f";
constexpr std::string_view kMarks = "?&;#";
constexpr std::string_view kHidden = "...";
/// What a sentence puts behind a name that it quotes.
constexpr std::string_view kClosing = "'\"`),.:;]}>";
constexpr std::size_t kLongestName = 64;
constexpr std::string_view kSecretNames[] = {"token",      "secret", "sig", "pass",   "pwd",
                                             "credential", "auth",   "key", "x-amz-", "x-goog-"};

bool is_in_scheme(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
}

bool is_in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

/// Behind the next "https://" or "https:/", or kNone. One letter is a drive; JSON may escape the
/// slashes.
std::size_t behind_scheme(std::string_view word, std::size_t from) {
  for (std::size_t colon = word.find(':', from); colon != kNone;
       colon = word.find(':', colon + 1)) {
    const std::size_t slash = word.find_first_not_of('\\', colon + 1);
    if (slash == kNone || word[slash] != '/') continue;
    std::size_t first = colon;
    while (first > 0 && is_in_scheme(word[first - 1])) --first;
    if (colon - first >= 2) return std::min(word.find_first_not_of("/\\", slash), word.size());
  }
  return kNone;
}

/// The @ behind the user and password of an address, which begin at `from`; or kNone. `last` is the
/// word's last @: a password may itself have a slash or an @, and is known by what is no port.
std::size_t end_of_user(std::string_view word, std::size_t from, std::size_t last) {
  if (last == kNone || last < from) return kNone;
  const std::string_view host =
      word.substr(from, std::min(word.find_first_of("/?#\\", from), word.size()) - from);
  const std::size_t at = host.rfind('@');
  if (at != kNone) return from + at;
  const std::size_t colon = host.starts_with('[') ? kNone : host.find(':');
  const bool port = colon == kNone || host.find_first_not_of("0123456789", colon + 1) == kNone;
  return port ? kNone : last;
}

bool names_secret(std::string_view name) {
  const std::string lower = lower_case(name);
  return std::ranges::any_of(
      kSecretNames, [&](std::string_view one) { return lower.find(one) != std::string::npos; });
}

/// Where the parameters of a word begin, if the name of one says that it is a secret. JSON may
/// write & as \u0026.
std::size_t secret_parameters(std::string_view word) {
  const std::size_t begin = word.find_first_of(kMarks);
  if (begin == kNone) return kNone;
  for (std::size_t equals = word.find('=', begin); equals != kNone;
       equals = word.find('=', equals + 1)) {
    std::size_t name = equals;
    while (name > begin + 1 && equals - name < kLongestName && is_in_name(word[name - 1])) --name;
    const char before = word[name - 1];
    const bool is_parameter = before == '\\' || kMarks.find(before) != kNone;
    if (is_parameter && names_secret(word.substr(name, equals - name))) return begin;
  }
  return kNone;
}

/// Without users and passwords. `address` is set when the word has an address.
std::string without_users(std::string_view word, bool& address) {
  std::string out;
  std::size_t taken = 0;
  const std::size_t last = word.rfind('@');
  for (std::size_t at = behind_scheme(word, 0); at != kNone; at = behind_scheme(word, at)) {
    address = true;
    const std::size_t user = end_of_user(word, at, last);
    if (user == kNone) continue;
    out.append(word.substr(taken, at - taken)).append(kHidden);
    // The @ of a password, or of a query.
    if (word.substr(at, user - at).find('?') != kNone) return out;
    taken = at = user;
  }
  return out.append(word.substr(taken));
}

/// Hides what a word holds. `address`: whether an earlier word was one; set when this one is.
std::string shown_word(std::string_view word, bool& address) {
  const std::size_t end = word.find_last_not_of(kClosing) + 1;
  std::string shown = without_users(word.substr(0, end), address);
  const std::size_t query = std::min(address ? shown.find('?') : kNone, secret_parameters(shown));
  if (query != kNone && query + 1 < shown.size()) shown.replace(query + 1, kNone, kHidden);
  return shown.append(word.substr(end));
}

/// Calls visit(word, the blanks behind it).
template <class Visit>
void for_each_word(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
    text.remove_prefix(word.size());
    const std::string_view blanks = text.substr(0, text.find_first_not_of(kBlanks));
    text.remove_prefix(blanks.size());
    visit(word, blanks);
  }
}

}  // namespace

std::string without_secrets(std::string_view text) {
  if (text.find_first_of("?&;#@") == kNone) return std::string(text);
  std::string out;
  bool address = false;
  for_each_word(text, [&](std::string_view word, std::string_view blanks) {
    out.append(shown_word(word, address)).append(blanks);
  });
  return out;
}

bool has_secret(std::string_view text) {
  if (text.find_first_of("?&;#@") == kNone) return false;
  bool found = false;
  for_each_word(text, [&](std::string_view word, std::string_view) {
    bool address = false;
    found = found || secret_parameters(word) != kNone || without_users(word, address) != word;
  });
  return found;
}

}  // namespace packhorse
