#include "annotations/yaml_tree.h"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <set>

#include "base/printable.h"
#include "base/text.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostYamlBytes = 1u << 20, kMostYamlLevels = 16, kMostYamlValues = 100'000;

[[noreturn]] void refuse_yaml(std::size_t line, std::string_view what) {
  throw Error(ErrorKind::kCorrupt,
              fmt::format("not a YAML file that can be used: line {}: {}", line, printable(what)));
}

/// Events of libyaml's parser, one at a time.
class YamlEvents {
 public:
  explicit YamlEvents(std::string_view text) {
    text = without_byte_order_mark(text);  // the parser takes it for a document of its own
    if (yaml_parser_initialize(&parser_) == 0)
      throw Error(ErrorKind::kIo, "there is no memory to parse YAML");
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~YamlEvents() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  YamlEvents(const YamlEvents&) = delete;
  YamlEvents& operator=(const YamlEvents&) = delete;

  /// Valid until the next call.
  const yaml_event_t& next() {
    yaml_event_delete(&event_);
    if (yaml_parser_parse(&parser_, &event_) == 0)
      refuse_yaml(parser_.problem_mark.line + 1,
                  parser_.problem == nullptr ? "not YAML" : parser_.problem);
    return event_;
  }

 private:
  yaml_parser_t parser_ = {};
  yaml_event_t event_ = {};
};

std::string_view view(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

class YamlTree {
 public:
  explicit YamlTree(std::string_view text) : events_(text) {}

  YamlNode run() {
    events_.next();  // the stream begins
    if (events_.next().type == YAML_STREAM_END_EVENT) return {};
    YamlNode root = value(events_.next(), 0);
    events_.next();  // the document ends
    const yaml_event_t& end = events_.next();
    if (end.type != YAML_STREAM_END_EVENT) refuse_yaml(line_of(end), "a second document");
    return root;
  }

 private:
  static std::size_t line_of(const yaml_event_t& event) { return event.start_mark.line + 1; }

  YamlNode value(const yaml_event_t& event, std::size_t level) {
    YamlNode node;
    node.line = line_of(event);
    if (++values_ > kMostYamlValues) refuse_yaml(node.line, "more than 100,000 values");
    if (level > kMostYamlLevels) refuse_yaml(node.line, "more than 16 levels");
    switch (event.type) {
      case YAML_SCALAR_EVENT:
        refuse_extras(node.line, event.data.scalar.anchor, event.data.scalar.tag);
        node.text.assign(reinterpret_cast<const char*>(event.data.scalar.value),
                         event.data.scalar.length);
        node.quoted = event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        return node;
      case YAML_SEQUENCE_START_EVENT:
        refuse_extras(node.line, event.data.sequence_start.anchor, event.data.sequence_start.tag);
        node.kind = YamlNode::Kind::kList;
        fill_list(node, level);
        return node;
      case YAML_MAPPING_START_EVENT:
        refuse_extras(node.line, event.data.mapping_start.anchor, event.data.mapping_start.tag);
        node.kind = YamlNode::Kind::kMap;
        fill_map(node, level);
        return node;
      default:
        refuse_yaml(node.line, "an alias (*name): write the value itself");
    }
  }

  static void refuse_extras(std::size_t line, const yaml_char_t* anchor, const yaml_char_t* tag) {
    if (anchor != nullptr) refuse_yaml(line, "an anchor (&name): write the value itself");
    if (!view(tag).empty()) refuse_yaml(line, "a tag (!name)");
  }

  void fill_list(YamlNode& node, std::size_t level) {
    while (true) {
      const yaml_event_t& event = events_.next();
      if (event.type == YAML_SEQUENCE_END_EVENT) return;
      node.items.push_back(value(event, level + 1));
    }
  }

  void fill_map(YamlNode& node, std::size_t level) {
    std::set<std::string> names;
    while (true) {
      const yaml_event_t& event = events_.next();
      if (event.type == YAML_MAPPING_END_EVENT) return;
      const YamlNode key = value(event, level + 1);
      if (key.kind != YamlNode::Kind::kText)
        refuse_yaml(key.line, "a key that is not a plain text");
      if (!names.insert(key.text).second)
        refuse_yaml(key.line, "'" + key.text + "' is there twice");
      node.members.emplace_back(key.text, value(events_.next(), level + 1));
    }
  }

  YamlEvents events_;
  std::size_t values_ = 0;
};

}  // namespace

bool YamlNode::is_null() const {
  return kind == Kind::kText && !quoted &&
         (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL");
}

const YamlNode* YamlNode::find(std::string_view name) const {
  const auto found =
      std::ranges::find_if(members, [&](const auto& member) { return member.first == name; });
  return found == members.end() ? nullptr : &found->second;
}

YamlNode parse_yaml(std::string_view text) {
  if (text.size() > kMostYamlBytes)
    throw Error(ErrorKind::kCorrupt, "not a YAML file that can be used: larger than 1 MiB");
  return text.empty() ? YamlNode() : YamlTree(text).run();
}

}  // namespace packhorse
