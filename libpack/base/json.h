#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/stop.h"
#include "packhorse/base/error.h"

/// The one parser for JSON that comes from outside: manifests, receipts, lists, members of shards,
/// lines of other processes. nlohmann's parser needs no stack for nesting, but copying, printing
/// and comparing a value recurse to its depth. Users of this header need nlohmann_json.
namespace packhorse {

/// Reads whole numbers exactly, and throws a type_error for any other value. nlohmann itself drops
/// fractions, wraps numbers that are negative or too large, turns true into 1, and leaves the
/// result of 1e30 to the machine.
template <class T, class = void>
struct ExactNumbers : nlohmann::adl_serializer<T> {};
template <class T>
requires(std::integral<T> && !std::same_as<T, bool>) struct ExactNumbers<T, void>
    : nlohmann::adl_serializer<T> {
  template <class Json>
  static void from_json(const Json& json, T& value) {
    const auto take = [&](auto number) {
      if (std::in_range<T>(number)) value = static_cast<T>(number);
      return std::in_range<T>(number);
    };
    const bool taken =
        json.is_number_unsigned()  ? take(json.template get_ref<const std::uint64_t&>())
        : json.is_number_integer() ? take(json.template get_ref<const std::int64_t&>())
                                   : false;
    if (!taken)
      throw Json::type_error::create(302, "a number in it is not whole, or out of range", &json);
  }
};
using ExactJson = nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t,
                                       std::uint64_t, double, std::allocator, ExactNumbers>;
/// The same, with members in their original order.
using OrderedExactJson =
    nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t,
                         std::uint64_t, double, std::allocator, ExactNumbers>;

/// The message of nlohmann's `error`, without its name and number: "key 'id' not found". For
/// invalid JSON, the place in plain words: "line 2, column 1: the text ends too early".
inline std::string json_problem(const nlohmann::detail::exception& error) {
  const std::string_view text = error.what();
  const std::size_t end = text.starts_with('[') ? text.find("] ") : std::string_view::npos;
  std::string problem(end == std::string_view::npos ? text : text.substr(end + 2));
  constexpr std::string_view kParse = "parse error at ", kNumber = "number overflow parsing ";
  if (problem.starts_with(kNumber))
    return "the number " + problem.substr(kNumber.size()) + " is too large";
  if (!problem.starts_with(kParse)) return problem;
  problem.erase(0, kParse.size());
  const auto says = [&](const char* words) { return problem.find(words) != std::string::npos; };
  const char* const what = says("unexpected end of input") || says("missing closing quote")
                               ? "the text ends too early"
                           : says("UTF-8")             ? "bytes that are not UTF-8"
                           : says("control character") ? "a control character in a text"
                                                       : "this is not JSON";
  return problem.substr(0, problem.find(": ") + 2) + what;
}

/// The text of a value, also of texts that are not UTF-8: such bytes become U+FFFD.
template <class Json>
std::string utf8_json(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// Throws Error(kCorrupt) for UTF-16 or UTF-32, which begin with their mark or have zero bytes:
/// JSON is UTF-8 (RFC 8259, 8.1).
inline void refuse_wide_json(std::string_view text) {
  const std::string_view head = text.substr(0, 4);
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff") ||
      head.find('\0') != std::string_view::npos)
    throw Error(ErrorKind::kCorrupt,
                "it is in UTF-16 or UTF-32, where JSON is UTF-8: `iconv -f UTF-16 -t UTF-8 FILE > "
                "NEW` converts it");
}

/// Limits on one text. The defaults fit all that packhorse writes except manifests, which have
/// limits of their own.
struct JsonLimits {
  std::size_t bytes = 16u << 20;
  std::size_t depth = 64;      ///< arrays and objects inside each other
  std::size_t members = 4096;  ///< of one object: nlohmann's ordered objects are searched from the
                               ///< front for each name
};

/// Parses into any of nlohmann's types. Throws, without a path, Error(kCorrupt) for invalid JSON
/// and Error(kUnsupported) beyond the limits; large texts obey a stop. Memory: at most about 30
/// times the text. `keep(depth, event, value)` is called like nlohmann's callbacks: values for
/// which it returns false are left out.
template <class Json, class Keep>
Json parse_json(std::string_view text, const JsonLimits& limits, const Keep& keep) {
  const auto refuse = [](const char* what, std::size_t limit) {
    throw Error(ErrorKind::kUnsupported,
                std::string("JSON ") + what + ", the limit is " + std::to_string(limit));
  };
  if (text.size() > limits.bytes) refuse("has too many bytes", limits.bytes);
  // Small texts are parsed within a moment, also by what tidies up.
  const bool long_enough = text.size() > (1u << 16);
  std::vector<std::size_t> open;  // members so far of each open object or array
  const auto watch = [&](int depth, typename Json::parse_event_t event, Json& value) {
    using Event = typename Json::parse_event_t;
    if (long_enough) obey_stop();
    if (event == Event::object_start || event == Event::array_start) {
      if (open.size() >= limits.depth) refuse("is nested too deep", limits.depth);
      open.push_back(0);
    } else if (event == Event::object_end || event == Event::array_end) {
      open.pop_back();
    } else if (event == Event::key && ++open.back() > limits.members) {
      refuse("has too many members in one object", limits.members);
    }
    return keep(depth, event, value);
  };
  refuse_wide_json(text);
  try {
    return Json::parse(text, watch);
  } catch (const typename Json::exception& error) {
    throw Error(ErrorKind::kCorrupt, "not valid JSON: " + json_problem(error));
  }
}

/// The same, with all that is in it.
template <class Json = ExactJson>
Json parse_json(std::string_view text, const JsonLimits& limits = {}) {
  return parse_json<Json>(text, limits,
                          [](int, typename Json::parse_event_t, Json&) { return true; });
}

}  // namespace packhorse
