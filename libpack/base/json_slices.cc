#include "base/json_slices.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/stop.h"

namespace packhorse {

namespace {

using Marks = std::array<bool, 256>;  // by character

constexpr Marks marks_of(std::string_view characters) {
  Marks marks{};
  for (const char c : characters) marks[static_cast<unsigned char>(c)] = true;
  return marks;
}

/// Where end_of_value() has something to decide: everywhere, and inside an array or object.
constexpr Marks kOuterMarks = marks_of("\"{}[],:"), kInnerMarks = marks_of("\"{}[]");

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

/// Where the string that begins at `at` ends, behind its quote.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

/// Where the value that begins at `at` ends.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    const Marks& marks = depth == 0 ? kOuterMarks : kInnerMarks;
    while (at < text.size() && !marks[static_cast<unsigned char>(text[at])]) ++at;
    if (at == text.size()) break;
    switch (text[at]) {
      case '"':
        at = end_of_string(text, at) - 1;
        break;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (depth-- == 0) return at;
        break;
      default:
        return at;
    }
  }
  return at;
}

/// Takes the value that begins at `at`, and moves `at` to what follows it.
std::string_view take_value(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  at = end_of_value(text, at);
  std::size_t end = at;
  while (end > begin && is_space(text[end - 1])) --end;
  return text.substr(begin, end - begin);
}

/// Moves on from the end of an element to the next one, or to the closing bracket.
std::size_t behind_comma(std::string_view text, std::size_t at) {
  return skip_space(text, at < text.size() && text[at] == ',' ? at + 1 : at);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Finds invalid JSON at ten times the speed of nlohmann's parser, since it makes no values. Texts
/// and numbers that need thought (escapes, UTF-8, exponents) are left to that, one by one.
class JsonLook {
 public:
  explicit JsonLook(std::string_view text) : text_(text) {}

  bool is_valid() {
    while (true) {
      const char c = next();
      if (c == '{' || c == '[') {
        open_.push_back(c == '{' ? '}' : ']');
        ++at_;
        if (next() != open_.back()) {
          if (c == '{' && !take_name()) return false;
          continue;
        }
      } else if (!take_scalar()) {
        return false;
      }
      while (!open_.empty() && next() == open_.back()) {
        open_.pop_back();
        ++at_;
      }
      if (open_.empty()) return next() == '\0' && at_ == text_.size();
      if (next() != ',') return false;
      ++at_;
      if (open_.back() == '}' && !take_name()) return false;
    }
  }

 private:
  /// The character behind blanks; 0 at the end.
  char next() {
    at_ = skip_space(text_, at_);
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take_name() {
    if (next() != '"' || !take_string() || next() != ':') return false;
    ++at_;
    return true;
  }

  bool take_string() {
    const std::size_t begin = at_, end = end_of_string(text_, at_);
    const std::string_view quoted = text_.substr(begin, end - begin);
    at_ = end;
    const bool plain =
        quoted.size() > 1 && quoted.back() == '"' &&
        std::ranges::all_of(quoted, [](char c) { return c >= ' ' && c <= '~' && c != '\\'; });
    return plain || nlohmann::json::accept(quoted);
  }

  bool take_scalar() {
    obey_stop();
    const char c = next();
    if (c == '"') return take_string();
    if (c == '-' || is_digit(c)) return take_number();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return true;
    }
    return false;
  }

  bool take_number() {
    constexpr std::size_t kAlwaysFinite = 300;  // digits
    const std::size_t begin = at_;
    if (text_[at_] == '-') ++at_;
    const std::size_t whole = take_digits();
    bool plain = whole == 1 || (whole > 1 && text_[at_ - whole] != '0');
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      plain = take_digits() > 0 && plain;
    }
    const std::size_t digits = at_ - begin;
    while (at_ < text_.size() &&
           (is_digit(text_[at_]) || std::string_view("eE+-.").find(text_[at_]) != text_.npos))
      ++at_;
    const std::string_view number = text_.substr(begin, at_ - begin);
    return (plain && number.size() == digits && digits < kAlwaysFinite) ||
           nlohmann::json::accept(number);
  }

  std::size_t take_digits() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ - begin;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string open_;  ///< the brackets that are to come, the last one first
};

}  // namespace

void check_json(std::string_view text) {
  refuse_wide_json(text);
  if (JsonLook(text).is_valid()) return;
  constexpr std::size_t kAny = ~std::size_t{0};
  parse_json<nlohmann::json>(text, {kAny, kAny, kAny}, [](int, auto, const auto&) {
    obey_stop();
    return false;  // it says what is wrong, and keeps nothing
  });
}

void for_each_member(std::string_view object,
                     const std::function<bool(std::string_view, std::string_view)>& visit) {
  const std::size_t begin = skip_space(object, 0);
  for (std::size_t at = skip_space(object, begin + 1); at < object.size() && object[at] != '}';) {
    obey_stop();
    const std::string_view name = take_value(object, at);
    at = skip_space(object, at + 1);
    const std::string_view value = take_value(object, at);
    if (!visit(name, value)) return;
    at = behind_comma(object, at);
  }
}

void for_each_element(std::string_view array, const std::function<void(std::string_view)>& visit) {
  const std::size_t begin = skip_space(array, 0);
  for (std::size_t at = skip_space(array, begin + 1); at < array.size() && array[at] != ']';) {
    obey_stop();
    visit(take_value(array, at));
    at = behind_comma(array, at);
  }
}

std::string_view json_member(std::string_view object, std::string_view name) {
  std::string_view found;
  if (!object.starts_with('{')) return found;
  for_each_member(object, [&](std::string_view quoted, std::string_view value) {
    if (json_characters(quoted) == name) found = value;
    return true;
  });
  return found;
}

std::string json_characters(std::string_view string) {
  if (string.find('\\') == std::string_view::npos)
    return std::string(string.substr(1, string.size() - 2));
  return parse_json(string).get<std::string>();
}

}  // namespace packhorse
