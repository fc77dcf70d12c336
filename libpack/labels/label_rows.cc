#include "labels/label_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "labels/label_text.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/base/printable.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSpaces = " \t\r";

// What headers call the columns, in lower case.
constexpr std::array<std::string_view, 25> kPathNames = {
    "path",      "paths",      "file",       "files",  "filename", "file_name", "filepath",
    "file_path", "fname",      "image",      "images", "image_id", "imageid",   "image_name",
    "imagename", "image_path", "image_file", "img",    "img_id",   "img_name",  "img_path",
    "img_file",  "id",         "name",       "key"};
constexpr std::array<std::string_view, 16> kLabelNames = {
    "label",       "labels",   "label_name",       "class",   "classes",  "class_name",
    "class_label", "class_id", "target",           "targets", "category", "category_name",
    "breed",       "species",  "predictionstring", "label_id"};
constexpr std::array<std::string_view, 3> kSureLabelNames = {"label", "class", "target"};

template <std::size_t n>
bool is_one_of(const std::array<std::string_view, n>& words, const std::string& cell) {
  return std::find(words.begin(), words.end(), lower_case(cell)) != words.end();
}

std::string_view trimmed(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(kSpaces) + 1);
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  return text;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = text.find_first_not_of(kSpaces); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kSpaces, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(kSpaces, end);
  }
  return words;
}

std::optional<std::size_t> number(const std::string& text) {
  std::size_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

bool has_image_cell(const std::vector<std::string>& cells) {
  return std::any_of(cells.begin(), cells.end(),
                     [](const std::string& cell) { return naming::has_any_image_name(cell); });
}

bool is_json_name(const fs::path& path) {
  return lower_case(path.extension().string()) == ".jsonl";
}

}  // namespace

LabelRows::LabelRows(fs::path path, LabelColumns columns)
    : path_(std::move(path)),
      columns_(std::move(columns)),
      fd_(open_for_reading(path_)),
      syntax_(find_syntax()),
      reader_(reader()) {}

void LabelRows::refuse(std::uint64_t line, const std::string& what) const {
  throw Error(ErrorKind::kUsage, "line " + std::to_string(line) + " of the labels file " + what,
              path_,
              "each line is an image's path and its label, separated by a tab, a comma or a "
              "space; a header, or --path-column and --label-column, tells further columns");
}

/// Finds the first separator that every line has.
LabelRows::Syntax LabelRows::find_syntax() const {
  if (is_json_name(path_)) return Syntax::kJson;
  constexpr std::array kSeparators = {'\t', ',', ' '};
  constexpr std::array kSyntaxes = {Syntax::kTabs, Syntax::kCommas, Syntax::kLastWord};
  std::array<std::uint64_t, 3> without{};  // first line without it
  bool any = false, images = false;
  RowReader reader(fd_.get(), path_, kLines);
  Row row;
  while (reader.next(row)) {
    const std::string_view line = trimmed(row.cells[0]);
    for (std::size_t s = 0; s < kSeparators.size(); ++s) {
      const bool here = line.find(kSeparators[s]) != std::string_view::npos;
      any = any || here;
      if (without[s] == 0 && !here) without[s] = row.line;
    }
    images = images || naming::has_any_image_name(line);
  }
  const bool by_words = !columns_.path.empty() || !columns_.label.empty();
  for (std::size_t s = 0; s < kSeparators.size(); ++s) {
    if (without[s] != 0) continue;
    return by_words && kSyntaxes[s] == Syntax::kLastWord ? Syntax::kWords : kSyntaxes[s];
  }
  // A quoted cell may go over several lines.
  const bool csv = lower_case(path_.extension().string()) == ".csv";
  if (csv && without[1] > 1) return Syntax::kCommas;
  if (!any && !images && !by_words) return Syntax::kNumbered;
  refuse(*std::max_element(without.begin(), without.end()), "has no label");
}

RowReader LabelRows::reader() const {
  return {fd_.get(), path_, syntax_ == Syntax::kCommas ? kCsv : kLines};
}

bool LabelRows::next(LabelRow& out) {
  if (!reader_.next(row_)) return false;
  out.line = row_.line;
  if (syntax_ == Syntax::kJson) {
    take_members(row_, out);
    if (columns_.one_line) out.label = in_one_line(std::move(out.label));
    return true;
  }
  cut(row_, cells_);
  if (!started_) {
    started_ = true;
    if (!numbered()) choose_columns(cells_);
    if (header_) return next(out);
  }
  if (numbered()) {
    out.path.clear();
    out.label = cells_.front();
    return true;
  }
  if (cells_.size() != width_) {
    if (cells_.size() < 2) refuse(row_.line, "has no label");
    refuse(row_.line, "has " + std::to_string(cells_.size()) + " columns instead of " +
                          std::to_string(width_));
  }
  out.path = cells_[path_at_];
  if (takes_all_others()) {
    take_others(out);
  } else {
    out.label = trimmed(cells_[label_at_]);
  }
  if (columns_.one_line) out.label = in_one_line(std::move(out.label));
  if (out.path.empty() || (out.label.empty() && !columns_.several))
    refuse(row_.line, out.path.empty() ? "has no path" : "has no label");
  if (prediction_) take_prediction(out);
  return true;
}

/// The cells beside the path, separated by tabs, of which the cells themselves have none.
void LabelRows::take_others(LabelRow& out) const {
  out.label.clear();
  for (std::size_t c = 0, others = 0; c < cells_.size(); ++c) {
    if (c == path_at_) continue;
    if (cells_[c].find('\t') != std::string::npos) refuse(row_.line, "has a tab in a cell");
    if (others++ > 0) out.label += '\t';
    out.label += cells_[c];
  }
}

void LabelRows::cut(const Row& row, std::vector<std::string>& cells) const {
  if (syntax_ == Syntax::kCommas) {
    cells.resize(row.cells.size());
    for (std::size_t c = 0; c < row.cells.size(); ++c)
      cells[c] = c == 0 ? row.cells[c] : std::string(trimmed(row.cells[c]));
    return;
  }
  const std::string_view whole = row.cells[0];
  const std::string_view line = whole.substr(0, whole.find_last_not_of(kSpaces) + 1);
  if (syntax_ == Syntax::kWords) {
    cells = words_of(line);
  } else if (syntax_ == Syntax::kNumbered) {
    cells = {std::string(trimmed(line))};
  } else if (syntax_ == Syntax::kTabs) {
    cells.clear();
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t tab = std::min(line.find('\t', at), line.size());
      const std::string_view cell = line.substr(at, tab - at);
      cells.emplace_back(cells.empty() ? cell : trimmed(cell));
      at = tab + 1;
    }
    // Several tabs separate path and label as one does; among more columns a cell may be empty.
    const auto empty = std::count(cells.begin(), cells.end(), std::string());
    if (std::ssize(cells) - empty == 2 && width_ == 2)
      cells.erase(std::remove(cells.begin(), cells.end(), std::string()), cells.end());
  } else {
    const std::size_t at = line.rfind(' ');
    cells.assign(1, std::string(line));
    if (at == std::string_view::npos) return;
    cells.front().erase(line.substr(0, at).find_last_not_of(kSpaces) + 1);
    cells.emplace_back(line.substr(at + 1));
  }
}

/// The place of a column told by its name or its number; a name makes the first line a header.
std::size_t LabelRows::named(const std::vector<std::string>& first, const std::string& column,
                             bool& header) {
  const auto same = [&](const std::string& cell) { return lower_case(cell) == lower_case(column); };
  const auto found = std::find_if(first.begin(), first.end(), same);
  if (found != first.end()) {
    if (std::count_if(first.begin(), first.end(), same) > 1)
      refuse(row_.line, "names the column '" + printable(column) + "' twice");
    header = true;
    return static_cast<std::size_t>(found - first.begin());
  }
  const std::optional<std::size_t> place = number(column);
  if (place && *place >= 1 && *place <= first.size()) return *place - 1;
  throw Error(ErrorKind::kUsage,
              "the labels file has no column '" + printable(column) +
                  "'; its first line has: " + naming::quoted(first),
              path_, "give a column's name in the header, or its number, counted from 1");
}

void LabelRows::ask_for_columns(const std::vector<std::string>& first) const {
  throw Error(ErrorKind::kUsage,
              "it is not clear which columns of the labels file are path and label; its first "
              "line has: " +
                  naming::quoted(first),
              path_,
              columns_.several
                  ? "name the column behind the file, FILE:COLUMN; FILE:* for one for each class"
                  : "give --path-column and --label-column, by the names in the header, or by "
                    "numbers, counted from 1, if it has none");
}

void LabelRows::choose_columns(const std::vector<std::string>& first) {
  width_ = first.size();
  if (width_ < 2) refuse(row_.line, "has no label");
  constexpr auto kNone = static_cast<std::size_t>(-1);
  std::size_t path = kNone, label = kNone;
  if (!columns_.path.empty()) path = named(first, columns_.path, header_);
  if (!columns_.label.empty() && !takes_all_others()) label = named(first, columns_.label, header_);
  std::vector<std::size_t> paths, labels;
  for (std::size_t c = 0; c < width_ && !has_image_cell(first); ++c) {
    if (c == path || c == label) continue;
    if (is_one_of(kPathNames, first[c])) paths.push_back(c);
    if (is_one_of(kLabelNames, first[c])) labels.push_back(c);
  }
  if (columns_.several && (label != kNone || takes_all_others())) {
    path_at_ = path != kNone ? path : paths.size() == 1 ? paths[0] : 0;
    label_at_ = label;
    if (!takes_all_others()) return;
    header_ = true;
    for (std::size_t c = 0; c < width_; ++c)
      if (c != path_at_) other_names_.push_back(first[c]);
    for (const std::string& name : other_names_)
      if (std::count(other_names_.begin(), other_names_.end(), name) > 1)
        refuse(row_.line, "names the column '" + printable(name) + "' twice");
    return;
  }
  const bool asked = path != kNone || label != kNone;
  if (!asked && width_ == 2) {
    // Any first cell before a sure name of a label is one of a header, too.
    const bool sure = !has_image_cell(first) && is_one_of(kSureLabelNames, first[1]);
    if (paths.size() == 2 || labels.size() == 2) ask_for_columns(first);
    header_ = sure || !paths.empty() || !labels.empty();
    path = (paths.empty() ? labels.empty() || labels[0] == 1 : paths[0] == 0) ? 0 : 1;
    label = 1 - path;
    if (!paths.empty() && !labels.empty() && paths[0] == labels[0]) ask_for_columns(first);
  } else {
    if (path == kNone && paths.size() == 1) path = paths[0];
    if (label == kNone && labels.size() == 1) label = labels[0];
    if (asked && width_ == 2 && path == kNone) path = 1 - label;
    if (asked && width_ == 2 && label == kNone) label = 1 - path;
    if (path == kNone || label == kNone || path == label) ask_for_columns(first);
    // Both were found by their usual names, or the line has such a name in one of their places.
    const auto is_header = [&] {
      return !has_image_cell(first) &&
             (is_one_of(kPathNames, first[path]) || is_one_of(kLabelNames, first[label]));
    };
    header_ = header_ || !asked || is_header();
  }
  path_at_ = path;
  label_at_ = label;
  prediction_ = header_ && !columns_.several && lower_case(first[label]) == "predictionstring";
}

/// Kaggle's ImageNet: "n03995372 85 1 499 272", a class and a box, once or more for one image.
void LabelRows::take_prediction(LabelRow& out) const {
  constexpr std::size_t kGroup = 5;
  const std::vector<std::string> words = words_of(out.label);
  for (std::size_t w = 0; w < words.size(); w += kGroup) {
    if (words.size() % kGroup == 0 && words[w] == words[0]) continue;
    refuse(out.line, "has no single class in its PredictionString");
  }
  out.label = words.front();
}

void LabelRows::take_members(const Row& row, LabelRow& out) {
  if (const std::string problem = json_members(row.cells[0], members_); !problem.empty())
    refuse(row.line, "is no JSON object: " + problem);
  if (!started_) {
    started_ = true;
    header_ = true;
    std::vector<std::string> names;
    for (const JsonMember& member : members_) names.push_back(member.name);
    const auto choose = [&](std::string& column, const auto& usual) {
      if (!column.empty()) return;
      for (const std::string& name : names) {
        if (!is_one_of(usual, name)) continue;
        if (!column.empty()) ask_for_columns(names);
        column = name;
      }
      if (column.empty()) ask_for_columns(names);
    };
    choose(columns_.path, kPathNames);
    choose(columns_.label, kLabelNames);
  }
  const auto text = [&](const std::string& column, bool integer, const char* what) {
    const auto found = std::find_if(
        members_.begin(), members_.end(),
        [&](const JsonMember& member) { return lower_case(member.name) == lower_case(column); });
    const bool none =
        found == members_.end() || found->text.empty() || found->type == JsonMember::Type::kNull;
    if (none && integer && columns_.several) return std::string();
    if (none) refuse(row.line, std::string("has no ") + what);
    if (integer && columns_.several && found->text.starts_with('[')) return found->text;
    const bool digits = found->text.find_first_not_of("-0123456789") == std::string::npos;
    if (found->type != JsonMember::Type::kString && !(integer && digits))
      refuse(row.line, std::string("has a ") + what + " that is no text" +
                           (integer ? " and no integer" : ""));
    return found->text;
  };
  out.path = text(columns_.path, false, "path");
  out.label = text(columns_.label, true, "label");
}

bool has_label_columns(const fs::path& file, std::string_view path, std::string_view label) {
  const UniqueFd fd = open_for_reading(file);
  const bool json = is_json_name(file);
  Row row;
  if (!RowReader(fd.get(), file, json ? kLines : kCsv).next(row)) return false;
  std::vector<std::string> names = row.cells;
  if (json) {
    names.clear();
    std::vector<JsonMember> members;
    if (!json_members(row.cells[0], members).empty()) return false;
    for (const JsonMember& member : members) names.push_back(member.name);
  }
  const auto has = [&](std::string_view wanted) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return lower_case(name) == wanted; });
  };
  return has(path) && has(label);
}

}  // namespace packhorse
