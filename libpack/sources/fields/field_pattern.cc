#include "sources/fields/field_pattern.h"

#include <algorithm>

#include "base/printable.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/source.h"

namespace packhorse {

namespace {

constexpr std::size_t kLongest = 1024;

std::vector<std::string_view> names_in(std::string_view path) {
  std::vector<std::string_view> names;
  while (!path.empty()) {
    const auto [first, rest] = naming::cut_first(path);
    names.push_back(first);
    path = rest;
  }
  return names;
}

}  // namespace

FieldPlace parse_field_place(const std::string& text, bool required) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw Error(ErrorKind::kUsage, "`field_from=`: '" + printable(text) + "' is not NAME=PLACE", {},
                "give the field's name and where its files lie in the source, e.g. seg.png=masks");
  }
  FieldPlace place{text.substr(0, equals), text.substr(equals + 1), required};
  const FieldPattern checked(place);
  return place;
}

FieldPattern::FieldPattern(const FieldPlace& place) : text_(place.pattern) {
  if (text_.size() > kLongest) refuse("it has more than 1,024 characters");
  const std::optional<std::string> clean = naming::clean_path(text_);
  if (!clean) refuse("it names nothing inside the source");
  for (const std::string_view name : names_in(*clean)) segments_.push_back(parse(name));
  if (!has(Token::Kind::kStem)) add_file_name(place.name);
  class_in_path_ = has(Token::Kind::kClass);
  const auto is_dir = [](const Segment& one) { return one.has(Token::Kind::kDir); };
  dir_ = static_cast<std::size_t>(std::ranges::find_if(segments_, is_dir) - segments_.begin());
  refuse_unclear();
}

/// Makes the pattern of a folder one of the files in it.
void FieldPattern::add_file_name(const std::string& field) {
  whole_ = segments_.size();
  if (!has(Token::Kind::kText)) refuse("it names every folder: name one, or a file, with {stem}");
  if (!has(Token::Kind::kDir)) segments_.push_back({{{Token::Kind::kDir, {}}}});
  segments_.push_back(
      {{{Token::Kind::kStem, {}}, {Token::Kind::kText, field.substr(field.rfind('.') + 1)}}});
  segments_.back().tokens.back().text.insert(0, 1, '.');
}

void FieldPattern::refuse_unclear() const {
  std::size_t dirs = 0;
  for (const Segment& segment : segments_) {
    if (!segment.has(Token::Kind::kDir)) continue;
    if (segment.tokens.size() > 1 || &segment == &segments_.back())
      refuse("{dir} stands for folders, so it stands alone between two slashes");
    ++dirs;
  }
  if (dirs > 1) refuse("it has {dir} twice");
}

FieldPattern::Segment FieldPattern::parse(std::string_view name) const {
  Segment segment;
  while (!name.empty()) {
    if (name.front() == '{') {
      const std::size_t end = name.find('}');
      if (end == std::string_view::npos) refuse("a { without its }");
      segment.tokens.push_back(placeholder(name.substr(1, end - 1)));
      name.remove_prefix(end + 1);
    } else {
      const std::size_t end = std::min(name.find('{'), name.size());
      segment.tokens.push_back({Token::Kind::kText, std::string(name.substr(0, end))});
      name.remove_prefix(end);
    }
  }
  return segment;
}

FieldPattern::Token FieldPattern::placeholder(std::string_view text) const {
  if (text == "split") return {Token::Kind::kSplit, {}};
  if (text == "class") return {Token::Kind::kClass, {}};
  if (text == "dir") return {Token::Kind::kDir, {}};
  if (text == "stem") return {Token::Kind::kStem, {}};
  if (text.starts_with("stem%") && text.size() > 5)
    return {Token::Kind::kStem, std::string(text.substr(5))};
  refuse("there is no placeholder {" + printable(text) + "}");
}

void FieldPattern::refuse(const std::string& what) const {
  throw Error(ErrorKind::kUsage, "`field_from=`: '" + printable(text_) + "': " + what, {},
              "give a folder of the source, e.g. seg.png=masks, or the files' paths in it, with "
              "{stem}, {stem%ENDING}, {dir}, {class} and {split}: seg.png=masks/{stem}_mask.png");
}

bool FieldPattern::Segment::has(Token::Kind kind) const {
  return std::ranges::any_of(tokens, [&](const Token& token) { return token.kind == kind; });
}

bool FieldPattern::has(Token::Kind kind) const {
  return std::ranges::any_of(segments_, [&](const Segment& segment) { return segment.has(kind); });
}

std::optional<std::string> FieldPattern::filled(const Segment& segment, const ImagePlace& image) {
  std::string name;
  for (const Token& token : segment.tokens) {
    std::string_view part = token.text;
    if (token.kind == Token::Kind::kSplit) part = image.split;
    if (token.kind == Token::Kind::kClass) part = image.class_folder;
    if (token.kind == Token::Kind::kStem) {
      part = image.stem;
      if (!part.ends_with(token.text)) return std::nullopt;
      part.remove_suffix(token.text.size());
    }
    if (part.empty()) return std::nullopt;
    name += part;
  }
  return name;
}

std::optional<std::string> FieldPattern::file_of(const ImagePlace& image) const {
  std::string path;
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    if (s == dir_) {
      const std::string& folders = class_in_path_ ? image.below_class : image.folders;
      if (!folders.empty()) path = naming::join(path, folders);
      continue;
    }
    const std::optional<std::string> name = filled(segments_[s], image);
    if (!name) return std::nullopt;
    path = naming::join(path, *name);
  }
  return path;
}

/// Whether the name is the texts of the segment, with something in place of each placeholder.
bool FieldPattern::fits(const Segment& segment, std::string_view name) {
  bool open = false;  // a placeholder stands before what is left of the name
  for (const Token& token : segment.tokens) {
    if (token.kind != Token::Kind::kText) {
      open = true;
      continue;
    }
    const bool last = &token == &segment.tokens.back();
    const std::size_t from = open ? 1 : 0;
    if (name.size() < from + token.text.size()) return false;
    std::size_t at = last ? name.size() - token.text.size() : name.find(token.text, from);
    if (last && !name.ends_with(token.text)) return false;
    if (at == std::string_view::npos || (!open && at != 0)) return false;
    name.remove_prefix(at + token.text.size());
    open = false;
  }
  return open ? !name.empty() : name.empty();
}

bool FieldPattern::fits(std::size_t n, const Names& names) const {
  const bool any = dir_ < n;
  if (any ? names.size() + 1 < n : names.size() != n) return false;
  const std::size_t before = any ? dir_ : n, after = n - before - (any ? 1 : 0);
  for (std::size_t s = 0; s < before; ++s)
    if (!fits(segments_[s], names[s])) return false;
  for (std::size_t s = 1; s <= after; ++s)
    if (!fits(segments_[n - s], names[names.size() - s])) return false;
  return true;
}

bool FieldPattern::covers(std::string_view folder) const {
  if (whole_ == 0) return false;
  Names names = names_in(folder);
  for (; !names.empty(); names.pop_back())
    if (fits(whole_, names)) return true;
  return false;
}

bool FieldPattern::may_be(std::string_view path) const {
  return whole_ > 0 ? covers(naming::directory_of(path)) : fits(segments_.size(), names_in(path));
}

bool FieldPattern::spells(std::string_view folder) const {
  const Names names = names_in(folder);
  for (std::size_t n = 1; n < segments_.size(); ++n)
    if (segments_[n - 1].has(Token::Kind::kText) && fits(n, names)) return true;
  return false;
}

}  // namespace packhorse
