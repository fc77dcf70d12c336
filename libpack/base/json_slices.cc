#include "base/json_slices.h"

#include "base/json.h"
#include "base/stop.h"

namespace packhorse {

namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::size_t skip_space(std::string_view text, std::size_t at) {
  const std::size_t found = text.find_first_not_of(kSpace, at);
  return found == std::string_view::npos ? text.size() : found;
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
    const char c = text[at];
    if (c == '"') {
      at = end_of_string(text, at) - 1;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (depth == 0 && (c == ',' || c == '}' || c == ']' || c == ':')) {
      break;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return at;
}

/// Takes the value that begins at `at`, and moves `at` to what follows it.
std::string_view take_value(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  at = end_of_value(text, at);
  const std::string_view value = text.substr(begin, at - begin);
  return value.substr(0, value.find_last_not_of(kSpace) + 1);
}

/// Moves on from the end of an element to the next one, or to the closing bracket.
std::size_t behind_comma(std::string_view text, std::size_t at) {
  return skip_space(text, at < text.size() && text[at] == ',' ? at + 1 : at);
}

/// Takes what the parser finds, and keeps nothing.
struct OnlyChecked : nlohmann::json_sax<nlohmann::json> {
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return go_on(); }
  bool number_unsigned(number_unsigned_t) override { return go_on(); }
  bool number_float(number_float_t, const string_t&) override { return go_on(); }
  bool string(string_t&) override { return go_on(); }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return go_on(); }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& error) override {
    throw Error(ErrorKind::kCorrupt, "not valid JSON: " + json_problem(error));
  }

 private:
  static bool go_on() {
    obey_stop();
    return true;
  }
};

}  // namespace

void check_json(std::string_view text) {
  refuse_wide_json(text);
  OnlyChecked checked;
  nlohmann::json::sax_parse(text, &checked);
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

std::string json_characters(std::string_view string) {
  if (string.find('\\') == std::string_view::npos)
    return std::string(string.substr(1, string.size() - 2));
  return parse_json(string).get<std::string>();
}

}  // namespace packhorse
