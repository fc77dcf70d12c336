#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/ascii.h"
#include "base/byte_order_mark.h"
#include "packhorse/base/error.h"
#include "storage/http/credentials.h"
#include "storage/http/credentials/text.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostIniBytes = 1u << 20;

[[noreturn]] void refuse_line(std::size_t number, const char* why) {
  throw Error(ErrorKind::kUsage, "line " + std::to_string(number) + " " + why, {},
              "the AWS CLI's `aws configure` writes such files");
}

/// Without a comment at its end: '#' or ';' behind white space.
std::string_view without_comment(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if ((text[i] == '#' || text[i] == ';') && is_blank(text[i - 1])) return text.substr(0, i);
  }
  return text;
}

/// One space for several, and none of the quotes of [profile "a name"].
std::string part_name(std::string_view text) {
  std::string name;
  bool space = false;
  for (const char c : text) {
    if (c == '"' || c == '\'') continue;
    if (is_blank(c)) {
      space = !name.empty();
      continue;
    }
    if (space) name += ' ';
    space = false;
    name += c;
  }
  return name;
}

class IniReader {
 public:
  void take(std::string_view line) {
    ++number_;
    if (std::any_of(line.begin(), line.end(), [](unsigned char c) {
          return (c < 0x20 && c != '\t' && c != '\r') || c == 0x7f;
        }))
      refuse_line(number_, "has control characters");
    const std::size_t indent = line.find_first_not_of(" \t\r");
    if (indent == std::string_view::npos || line[indent] == '#' || line[indent] == ';') return;
    if (line[indent] == '[') {
      begin_part(trimmed(line));
    } else if (indent > indent_ && !name_.empty()) {
      take_inner(trimmed(line));
    } else {
      indent_ = indent;
      take_setting(trimmed(line));
    }
  }

  IniFile finish() { return std::move(file_); }

 private:
  void begin_part(std::string_view line) {
    const std::size_t end = line.find(']');
    if (end == std::string_view::npos) refuse_line(number_, "begins with '[', and lacks ']'");
    const std::string_view rest = trimmed(line.substr(end + 1));
    if (!rest.empty() && rest.front() != '#' && rest.front() != ';')
      refuse_line(number_, "goes on behind ']'");
    const std::string name = part_name(line.substr(1, end - 1));
    if (name.empty()) refuse_line(number_, "has no name in its brackets");
    part_ = &file_[name];
    name_.clear();
    indent_ = 0;
  }

  void take_setting(std::string_view line) {
    if (part_ == nullptr) refuse_line(number_, "is before the first line in brackets");
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) refuse_line(number_, "has no '='");
    name_ = lower_case(trimmed(line.substr(0, equals)));
    if (name_.empty()) refuse_line(number_, "has nothing before its '='");
    // A comment needs white space before it; here that may be what stood behind the '='.
    (*part_)[name_] = trimmed(without_comment(line.substr(equals + 1)));
  }

  /// A setting below another, or text that goes on with it.
  void take_inner(std::string_view line) {
    std::string& outer = (*part_)[name_];
    const std::size_t equals = line.find('=');
    if (!outer.empty() || equals == std::string_view::npos) {
      if (!outer.empty()) outer += '\n';
      outer += line;
      return;
    }
    const std::string inner = lower_case(trimmed(line.substr(0, equals)));
    if (inner.empty()) refuse_line(number_, "has nothing before its '='");
    (*part_)[name_ + "." + inner] = trimmed(without_comment(line.substr(equals + 1)));
  }

  IniFile file_;
  std::map<std::string, std::string>* part_ = nullptr;
  std::string name_;        ///< of the last setting; empty: none in this part yet
  std::size_t indent_ = 0;  ///< of that setting
  std::size_t number_ = 0;  ///< of the line
};

}  // namespace

IniFile parse_ini(std::string_view text) {
  if (text.size() > kMostIniBytes)
    throw Error(ErrorKind::kUsage, "the file has more than 1 MiB", {}, "check whether it is it");
  text = without_byte_order_mark(text);
  IniReader reader;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.finish();
}

}  // namespace packhorse
