#include "labels/label_rows.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/printable.h"
#include "base/text.h"
#include "labels/table_syntax.h"
#include "labels/text_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

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
  return std::ranges::find(words, lower_case(cell)) != words.end();
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

/// What stands between the quotes of a cell that is in quotes as a whole; nothing for any other.
std::optional<std::string> unquoted(std::string_view cell) {
  if (cell.size() < 2 || cell.front() != '"' || cell.back() != '"') return std::nullopt;
  cell = cell.substr(1, cell.size() - 2);
  std::string text;
  for (std::size_t at = 0; at < cell.size(); ++at) {
    if (cell[at] == '"' && (++at == cell.size() || cell[at] != '"')) return std::nullopt;
    text += cell[at];
  }
  return text;
}

bool has_image_cell(const std::vector<std::string>& cells) {
  return std::ranges::any_of(
      cells, [](const std::string& cell) { return naming::has_any_image_name(cell); });
}

bool is_json_name(const fs::path& path) {
  return lower_case(path.extension().string()) == ".jsonl";
}

/// What is called .json has an object a line, too, or is one value over all its lines.
bool is_json_document(int fd, const fs::path& path) {
  Row row;
  std::vector<JsonMember> members;
  return RowReader(fd, path, kLines).next(row) && !json_members(row.cells[0], members).empty();
}

}  // namespace

LabelRows::LabelRows(fs::path path, LabelColumns columns)
    : path_(std::move(path)),
      columns_(std::move(columns)),
      fd_(open_text(path_)),
      syntax_(find_syntax()),
      reader_(reader()) {}

void LabelRows::refuse(std::uint64_t line, const std::string& what) const {
  throw Error(
      ErrorKind::kUsage, "line " + std::to_string(line) + " of the labels file " + what, path_,
      "each line is an image's path and its label, separated by a tab, a comma, a semicolon "
      "or a space; a header, or `path_column=` and `label_column=`, tells further columns");
}

LabelRows::Syntax LabelRows::find_syntax() {
  if (is_json_name(path_)) return Syntax::kJson;
  if (lower_case(path_.extension().string()) == ".json") {
    if (!is_json_document(fd_.get(), path_)) return Syntax::kJson;
    throw Error(ErrorKind::kUsage, "the labels file is a JSON document, and no table", path_,
                "write a CSV file, or an object with path and label in each line");
  }
  if (const auto found = find_separator(fd_.get(), path_)) {
    cells_syntax_ = *found;
    return Syntax::kCells;
  }
  return words_or_labels();
}

/// Blanks separate where every line has one. A file without any separator has labels alone.
LabelRows::Syntax LabelRows::words_or_labels() const {
  constexpr std::string_view kSeparators = "\t,; ";
  std::uint64_t without_blank = 0, without_any = 0;
  bool any = false, images = false;
  RowReader reader(fd_.get(), path_, kLines);
  for (Row row; reader.next(row);) {
    const std::string_view line = trimmed(row.cells[0]);
    const bool here = line.find_first_of(kSeparators) != std::string_view::npos;
    any = any || here;
    if (!here && without_any == 0) without_any = row.line;
    if (line.find(' ') == std::string_view::npos && without_blank == 0) without_blank = row.line;
    images = images || naming::has_any_image_name(line);
  }
  if (without_blank == 0) return by_name() ? Syntax::kWords : Syntax::kLastWord;
  if (!any && !images && !by_name()) return Syntax::kNumbered;
  refuse(without_any != 0 ? without_any : without_blank, "has no label");
}

RowReader LabelRows::reader() const {
  return {fd_.get(), path_,
          syntax_ == Syntax::kCells      ? cells_syntax_
          : syntax_ == Syntax::kNumbered ? kOneCell
                                         : kLines};
}

bool LabelRows::next(LabelRow& out) {
  if (!reader_.next(row_)) return false;
  out.line = row_.line;
  if (syntax_ == Syntax::kJson) {
    take_members(row_, out);
    if (columns_.one_line) out.label = in_one_line(std::move(out.label));
    return true;
  }
  cut_cells();
  if (!started_) {
    started_ = true;
    if (!numbered()) choose_columns(cells_);
    if (header_) header_cells_ = cells_;
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
  if (split_at_) take_split(cells_[*split_at_], out);
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

void LabelRows::cut_cells() {
  if (syntax_ == Syntax::kWords) {
    cut_words();
  } else if (syntax_ == Syntax::kLastWord) {
    cut_last_word();
  } else {
    cells_ = row_.cells;
    // Several tabs separate path and label as one does, unless columns were asked for; among more
    // columns a cell may be empty.
    const auto empty = std::ranges::count(cells_, std::string());
    const bool tabs = syntax_ == Syntax::kCells && cells_syntax_.separator == kTabs.separator;
    if (tabs && std::ssize(cells_) - empty == 2 && width_ == 2 && !by_name())
      cells_.erase(std::remove(cells_.begin(), cells_.end(), std::string()), cells_.end());
  }
}

void LabelRows::cut_words() {
  const std::string_view line = trimmed(row_.cells[0]);
  cells_.clear();
  for (std::size_t at = 0; at < line.size();) {
    const bool quoted = line[at] == '"';
    std::size_t end = std::min(line.find_first_of(kSpaces, at), line.size());
    std::optional<std::string> text(line.substr(at, end - at));
    while (quoted && !(text = unquoted(line.substr(at, end - at))) && end < line.size())
      end = std::min(line.find_first_of(kSpaces, end + 1), line.size());
    if (!text) refuse(row_.line, "has quotes that do not end with a word");
    cells_.push_back(std::move(*text));
    at = std::min(line.find_first_not_of(kSpaces, end), line.size());
  }
}

/// A path may have blanks; a label has them only in quotes.
void LabelRows::cut_last_word() {
  const std::string_view line = trimmed(row_.cells[0]);
  std::size_t at = line.rfind(' ');
  std::optional<std::string> label(line.substr(at + 1));
  if (line.ends_with('"')) {
    label.reset();
    for (at = line.find(" \""); at != std::string_view::npos; at = line.find(" \"", at + 1))
      if ((label = unquoted(line.substr(at + 1)))) break;
  }
  const std::string_view before = trimmed(line.substr(0, std::min(at, line.size())));
  std::optional<std::string> path(before);
  if (before.starts_with('"') || before.find(" \"") != std::string_view::npos)
    path = unquoted(before);
  if (!label || !path) refuse(row_.line, "has quotes that do not end with its path or its label");
  cells_ = {std::move(*path), std::move(*label)};
}

/// The place of a column told by its number, or by its name in the first line.
std::size_t LabelRows::column(const std::vector<std::string>& first, const std::string& wanted) {
  const std::optional<std::size_t> place = parse_number<std::size_t>(wanted);
  if (place && *place >= 1 && *place <= first.size()) return *place - 1;
  const auto same = [&](const std::string& cell) { return lower_case(cell) == lower_case(wanted); };
  const auto found = std::ranges::find_if(first, same);
  if (found == first.end()) {
    throw Error(ErrorKind::kUsage,
                "the labels file has no column '" + printable(wanted) +
                    "'; its first line has: " + naming::quoted(first),
                path_, "give a column's name in the header, or its number, counted from 1");
  }
  if (std::ranges::count_if(first, same) > 1)
    refuse(row_.line, "names the column '" + printable(wanted) + "' twice");
  refuse_images_in_header(first);
  header_ = true;
  return static_cast<std::size_t>(found - first.begin());
}

bool LabelRows::by_numbers() const {
  return parse_number<std::size_t>(columns_.path) && parse_number<std::size_t>(columns_.label);
}

void LabelRows::refuse_images_in_header(const std::vector<std::string>& first) const {
  const auto image = std::ranges::find_if(first, naming::has_any_image_name);
  if (image == first.end()) return;
  throw Error(ErrorKind::kUsage,
              "line " + std::to_string(row_.line) + " should be a header, and names the image '" +
                  printable(*image) + "'",
              path_, "give columns by their numbers, counted from 1, or write a header");
}

/// Whether the first line is one though no column was asked for by name.
bool LabelRows::looks_like_header(const std::vector<std::string>& first, std::size_t path,
                                  std::size_t label) const {
  return !has_image_cell(first) && (is_one_of(kPathNames, first[path]) ||
                                    (label < first.size() && is_one_of(kLabelNames, first[label])));
}

std::string LabelRows::description() const {
  if (numbered()) return "a label a line";
  const auto named = [&](std::size_t at) {
    if (syntax_ == Syntax::kJson)
      return "'" +
             printable(at == 0   ? columns_.path
                       : at == 1 ? columns_.label
                                 : columns_.split) +
             "'";
    return header_ ? "'" + printable(header_cells_[at]) + "'" : std::to_string(at + 1);
  };
  std::string text(syntax_ == Syntax::kCells || syntax_ == Syntax::kJson ? name_of(cells_syntax_)
                                                                         : "blanks");
  if (syntax_ != Syntax::kJson)
    text += std::string(header_ ? ", a header, " : ", no header, ") + columns_text(width_);
  text += ": the path is " + named(path_at_);
  if (takes_all_others()) return text + ", all others are classes";
  text += (columns_.several ? ", the text is " : ", the label is ") + named(label_at_);
  if (split_at_) text += ", the split is " + named(*split_at_);
  return text + (columns_.several ? "" : unused_columns());
}

/// "; not used: 'width', 'height'", or "".
std::string LabelRows::unused_columns() const {
  constexpr std::size_t kShown = 5;
  std::string text;
  std::size_t unused = 0;
  for (std::size_t c = 0; c < header_cells_.size(); ++c) {
    if (c == path_at_ || c == label_at_ || split_at_ == c || header_cells_[c].empty()) continue;
    if (++unused > kShown) continue;
    text += (unused == 1 ? "; not used: '" : ", '") + printable(header_cells_[c]) + "'";
  }
  return text + (unused > kShown ? " and " + std::to_string(unused - kShown) + " more" : "");
}

void LabelRows::ask_for_columns(const std::vector<std::string>& first) const {
  throw Error(ErrorKind::kUsage,
              "it is not clear which columns of the labels file are path and label; its first "
              "line has: " +
                  naming::quoted(first),
              path_,
              columns_.several
                  ? "name the column behind the file, FILE:COLUMN; FILE:* for one for each class"
                  : "give `path_column=` and `label_column=`, by the names in the header, or by "
                    "numbers, counted from 1, if it has none");
}

/// An index of rows, as pandas writes it, is no class.
void LabelRows::refuse_nameless(const std::vector<std::string>& first) const {
  const auto column = std::ranges::find(first, "") - first.begin() + 1;
  throw Error(ErrorKind::kUsage,
              "column " + std::to_string(column) + " has no name in line " +
                  std::to_string(row_.line) + ", and each column beside the path is a class",
              path_,
              "give it the name of its class, or take it out: with pandas, to_csv(index=False)");
}

void LabelRows::choose_columns(const std::vector<std::string>& first) {
  width_ = first.size();
  if (width_ < 2) refuse(row_.line, "has no label");
  constexpr auto kNone = static_cast<std::size_t>(-1);
  std::size_t path = kNone, label = kNone;
  if (!columns_.path.empty()) path = column(first, columns_.path);
  if (!columns_.label.empty() && !takes_all_others()) label = column(first, columns_.label);
  std::vector<std::size_t> paths, labels;
  const bool may_be_header = !has_image_cell(first);
  for (std::size_t c = 0; c < width_; ++c) {
    if (!may_be_header || c == path || c == label) continue;
    if (is_one_of(kPathNames, first[c])) paths.push_back(c);
    if (is_one_of(kLabelNames, first[c])) labels.push_back(c);
  }
  if (columns_.several && (label != kNone || takes_all_others())) {
    path_at_ = path != kNone ? path : paths.size() == 1 ? paths[0] : 0;
    label_at_ = label;
    header_ = header_ || looks_like_header(first, path_at_, label_at_);
    if (!takes_all_others()) return;
    refuse_images_in_header(first);
    header_ = true;
    for (std::size_t c = 0; c < width_; ++c)
      if (c != path_at_) other_names_.push_back(first[c]);
    std::vector<std::string_view> names(other_names_.begin(), other_names_.end());
    std::ranges::sort(names);
    if (!names.empty() && names.front().empty()) refuse_nameless(first);
    if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
      refuse(row_.line, "names the column '" + printable(*twice) + "' twice");
    return;
  }
  const bool asked = path != kNone || label != kNone;
  if (!asked && width_ == 2) {
    // Any first cell before a sure name of a label is one of a header, too.
    const bool sure = may_be_header && is_one_of(kSureLabelNames, first[1]);
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
    header_ = header_ || !asked || looks_like_header(first, path, label);
  }
  path_at_ = path;
  label_at_ = label;
  prediction_ = header_ && !columns_.several && lower_case(first[label]) == "predictionstring";
  choose_split(first);
}

void LabelRows::choose_split(const std::vector<std::string>& first) {
  if (columns_.split == LabelColumns::kNoSplits) return;
  const auto is_split = [](const std::string& cell) { return lower_case(cell) == "split"; };
  if (!columns_.split.empty()) {
    split_at_ = column(first, columns_.split);
  } else if (header_ && std::ranges::any_of(first, is_split)) {
    split_at_ = column(first, "split");
  }
  if (!split_at_ || (*split_at_ != path_at_ && *split_at_ != label_at_)) return;
  if (columns_.split.empty()) return split_at_.reset();
  refuse(row_.line, "has one column for two things: its path, its label and its split must differ");
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
    const auto is_split = [](const std::string& name) { return lower_case(name) == "split"; };
    if (columns_.split.empty() && std::any_of(names.begin(), names.end(), is_split))
      columns_.split = "split";
    if (!columns_.split.empty() && columns_.split != LabelColumns::kNoSplits) split_at_ = 2;
  }
  const auto text = [&](const std::string& column, bool integer, const char* what) {
    const auto found = std::ranges::find_if(members_, [&](const JsonMember& member) {
      return lower_case(member.name) == lower_case(column);
    });
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
  out.label = trimmed(text(columns_.label, true, "label"));
  if (out.label.empty() && !columns_.several) refuse(row.line, "has no label");
  const auto is_split = [](const JsonMember& member) { return lower_case(member.name) == "split"; };
  if (split_at_) return take_split(text(columns_.split, true, "split"), out);
  if (columns_.split.empty() && std::ranges::any_of(members_, is_split))
    refuse_split(row.line, "has a split, and the lines before it have none");
}

void LabelRows::take_split(std::string_view cell, LabelRow& out) const {
  out.split = trimmed(cell);
  if (out.split.empty()) refuse_split(out.line, "has no split");
}

void LabelRows::refuse_split(std::uint64_t line, const std::string& what) const {
  throw Error(ErrorKind::kUsage, "line " + std::to_string(line) + " of the labels file " + what,
              path_,
              "write the split of each image, or give `split_column=none`, which leaves out the "
              "column");
}

bool has_label_columns(const fs::path& file, std::string_view path, std::string_view label) {
  const UniqueFd fd = open_text(file);
  const auto has = [&](const std::vector<std::string>& names, std::string_view wanted) {
    return std::ranges::any_of(names,
                               [&](const std::string& name) { return lower_case(name) == wanted; });
  };
  Row row;
  if (is_json_name(file)) {
    std::vector<JsonMember> members;
    if (!RowReader(fd.get(), file, kLines).next(row) ||
        !json_members(row.cells[0], members).empty())
      return false;
    std::vector<std::string> names;
    for (const JsonMember& member : members) names.push_back(member.name);
    return has(names, path) && has(names, label);
  }
  return header_syntax(fd.get(), file, {path, label}, row).has_value();
}

}  // namespace packhorse
