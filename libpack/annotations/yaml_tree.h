#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace packhorse {

/// A value of a YAML document, as text: nothing is made of "1", "yes" or "null" unless asked for.
struct YamlNode {
  enum class Kind : std::uint8_t { kText, kList, kMap };
  Kind kind = Kind::kText;
  std::string text = {};
  bool quoted = false;  ///< kText: it stands in quotes, or is a block of text
  std::vector<YamlNode> items = {};
  std::vector<std::pair<std::string, YamlNode>> members = {};
  std::size_t line = 0;  ///< where it begins, counted from 1

  /// Whether it is nothing: "", "~" or "null" without quotes.
  bool is_null() const;
  /// The member of that name; null where there is none.
  const YamlNode* find(std::string_view name) const;
};

/// Parses one document of YAML 1.1 (libyaml): UTF-8, 1 MiB, 16 levels and 100,000 values at most.
/// Refuses what could make a small text large or mean several things: anchors and aliases, tags,
/// two members of one name, keys that are no plain text, several documents. Throws Error(kCorrupt),
/// which names the line.
YamlNode parse_yaml(std::string_view text);

}  // namespace packhorse
