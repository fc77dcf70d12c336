#include "labels/label_file.h"

#include <algorithm>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "labels/table_syntax.h"
#include "labels/text_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLineAdvice =
    "each line is an image's path and its label, separated by a tab, a comma, a semicolon or a "
    "space";
constexpr const char* kHeaderAdvice =
    "if it is a header, name its columns with `path_column=` and `label_column=`; if it is a line "
    "like the others, give their numbers, `path_column=1` `label_column=2`";
constexpr const char* kNamesAdvice =
    "write labels as the class list has them: the names of the class folders, or of `classes=`";
constexpr const char* kTableAdvice =
    "give a table of image paths and what belongs to each, with a header";
/// From so many lines on, labels that count the lines are taken for line numbers.
constexpr std::size_t kFewLines = 100;

/// The two cells of a row, or of a line the first word and all that follows it.
std::vector<std::string> id_and_name(const Row& row, bool table) {
  if (table) return row.cells;
  const std::string_view line = trimmed(row.cells[0]);
  const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  return {std::string(line.substr(0, end)), std::string(trimmed(line.substr(end)))};
}

/// Whether a blank is the first separator in each line: all that follows it is the name, which may
/// have commas.
bool are_ids_and_names(int fd, const fs::path& path) {
  RowReader reader(fd, path, kLines);
  for (Row row; reader.next(row);) {
    const std::string_view line = trimmed(row.cells[0]);
    const std::size_t at = line.find_first_of(" ,;\t\"");
    if (at == std::string_view::npos || line[at] != ' ') return false;
  }
  return true;
}

}  // namespace

LabelIds read_label_ids(const fs::path& path) {
  LabelIds ids;
  const UniqueFd fd = open_text(path);
  const auto separator =
      are_ids_and_names(fd.get(), path) ? std::nullopt : find_separator(fd.get(), path);
  RowReader reader(fd.get(), path, separator.value_or(kLines));
  for (Row row; reader.next(row);) {
    const auto refuse = [&](const std::string& what) {
      throw Error(ErrorKind::kUsage, "line " + std::to_string(row.line) + " of the ids " + what,
                  path,
                  separator ? "each line is a number and the class it stands for, in quotes if it "
                              "has commas: 1,\"crane, bird\""
                            : "each line is a number and the class it stands for: 1 n02119789");
    };
    const std::vector<std::string> cells = id_and_name(row, separator.has_value());
    if (cells.size() != 2) refuse("has not two cells");
    const std::string_view id = trimmed(cells[0]), name = trimmed(cells[1]);
    if (id.empty()) refuse("has no id");
    if (name.empty()) refuse("has no name");
    check_class_name(name, {&path, row.line});
    const auto [place, is_new] = ids.emplace(id, name);
    if (!is_new) refuse("gives the id '" + printable(place->first) + "' again");
  }
  if (ids.empty()) throw Error(ErrorKind::kUsage, "the file of ids is empty", path);
  return ids;
}

LabelFile::LabelFile(const fs::path& path, const LabelColumns& columns, const LabelIds* ids)
    : path_(path) {
  read(columns, ids);
  if (lines_.empty())
    throw Error(ErrorKind::kUsage, "the labels file is empty", path_, kLineAdvice);
  if (ids == nullptr) refuse_line_numbers();
}

LabelFile::LabelFile(const fs::path& path, std::vector<std::string> classes) : LabelFile(path) {
  if (numbered_) refuse(lines_.front().number, "has no label", kLineAdvice);
  LabelNames names(std::move(classes));
  add_to(names);
  names.finish();
  resolve(names);
  note_ += names.notes().empty() ? "" : "; " + names.notes().front();
}

void LabelFile::refuse(std::uint64_t line, const std::string& what,
                       const std::string& advice) const {
  throw Error(ErrorKind::kUsage, "line " + std::to_string(line) + " of the labels file " + what,
              path_, advice);
}

void LabelFile::read(const LabelColumns& columns, const LabelIds* ids) {
  LabelRows rows(path_, columns);
  numbered_ = rows.numbered();
  for (LabelRow row; rows.next(row);) {
    if (numbered_ && row.line != lines_.size() + 1)
      refuse(lines_.size() + 1, "is empty, and lines without paths are counted",
             "write a label in it");
    if (ids != nullptr) {
      const auto found = ids->find(row.label);
      if (found == ids->end())
        refuse(row.line, "has the label '" + printable(row.label) + "', which is not in the ids",
               "give the file of all ids with `label_ids=`");
      row.label = found->second;
    }
    add_line(row);
  }
  sure_of_header_ = rows.has_header() || rows.by_numbers();
  other_names_ = rows.other_names();
  if (lines_.empty()) return;
  note_ = std::string(columns.several ? "table" : "labels file") + " '" +
          printable(path_.filename().native()) + "': " + rows.description();
}

void LabelFile::add_line(const LabelRow& row) {
  std::string_view name = row.path;
  while (name.starts_with("./")) name.remove_prefix(2);
  if (name.empty() && !numbered_) refuse(row.line, "has no path", kLineAdvice);
  lines_.push_back({text_.size(), static_cast<std::uint32_t>(name.size()),
                    static_cast<std::uint32_t>(row.line), number_of(row.label, row.line), kUnused,
                    0, split_of(row)});
  text_ += name;
}

/// The place of a row's split in splits_.
std::uint8_t LabelFile::split_of(const LabelRow& row) {
  constexpr std::size_t kMostSplits = 100;
  if (row.split.empty()) return 0;
  const auto known = std::find(splits_.begin(), splits_.end(), row.split);
  if (known != splits_.end()) return static_cast<std::uint8_t>(known - splits_.begin());
  if (!naming::is_split_name(row.split) || splits_.size() == kMostSplits)
    refuse(row.line,
           naming::is_split_name(row.split)
               ? "has more different splits than " + std::to_string(kMostSplits)
               : "has the split '" + printable(row.split) + "', which cannot be a folder's name",
           "if that column does not hold splits, give `split_column=none`");
  splits_.push_back(row.split);
  return static_cast<std::uint8_t>(splits_.size() - 1);
}

/// The place of a text in labels_.
std::int32_t LabelFile::number_of(const std::string& text, std::uint64_t line) {
  const auto [known, is_new] =
      label_numbers_.emplace(text, static_cast<std::int32_t>(labels_.size()));
  if (is_new) {
    labels_.push_back(text);
    text_lines_.push_back(line);
  }
  return known->second;
}

LabelFile LabelFile::texts(const fs::path& path, const LabelColumns& columns) {
  LabelFile file;
  file.path_ = path;
  file.read(columns, nullptr);
  if (file.numbered_) file.refuse(file.lines_.front().number, "has no path", kTableAdvice);
  file.join_texts();
  return file;
}

LabelFile LabelFile::texts(const fs::path& path, const std::function<bool(LabelRow&)>& next) {
  LabelFile file;
  file.path_ = path;
  file.sure_of_header_ = true;  // none of the rows is one
  for (LabelRow row; next(row);) file.add_line(row);
  file.join_texts();
  return file;
}

/// Sorts the lines by path, and makes one of those with the same path.
void LabelFile::join_texts() {
  if (lines_.empty()) throw Error(ErrorKind::kUsage, "the file is empty", path_, kTableAdvice);
  std::ranges::sort(lines_, [this](const Line& a, const Line& b) {
    const int order = path_of(a).compare(path_of(b));
    return order != 0 ? order < 0 : a.number < b.number;
  });
  std::vector<Line> joined;
  for (const Line& line : lines_) {
    if (joined.empty() || path_of(joined.back()) != path_of(line)) {
      joined.push_back(line);
      continue;
    }
    const auto text = [this](const Line& of) {
      return labels_[static_cast<std::size_t>(of.label)];
    };
    const bool gap = !text(joined.back()).empty() && !text(line).empty();
    const std::string both = text(joined.back()) + (gap ? "\n" : "") + text(line);
    joined.back().label = number_of(both, joined.back().number);
  }
  lines_ = std::move(joined);
  label_numbers_.clear();
}

/// Lists of images come with their line numbers, too: ImageSets/CLS-LOC/val.txt.
void LabelFile::refuse_line_numbers() const {
  const std::size_t n = lines_.size();
  if (numbered_) {
    if (n == 1 || labels_.size() < n) return;
    refuse(lines_.front().number, "has no label, nor has any other: no two lines are the same",
           kLineAdvice);
  }
  if (n < kFewLines || labels_.size() != n) return;
  for (std::size_t i = 0; i < n; ++i) {
    if (labels_[i] != std::to_string(i + 1)) return;
  }
  throw Error(
      ErrorKind::kUsage,
      "the labels file numbers its lines from 1 to " + std::to_string(n) + ": these are no labels",
      path_, "give a file whose lines have the image's class; if they are, give `label_ids=`");
}

void LabelFile::add_to(LabelNames& names) const {
  for (std::size_t i = 0; i < labels_.size(); ++i) names.add(labels_[i], place_of_text(i));
}

void LabelFile::resolve(const LabelNames& names) {
  classes_ = names.classes();
  for (Line& line : lines_) {
    Problem problem;
    const auto label = names.label(labels_[static_cast<std::size_t>(line.label)], problem);
    if (!label) {
      const std::string& text = labels_[static_cast<std::size_t>(line.label)];
      const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
      const bool first = &line == lines_.data() && !sure_of_header_ && !numbered_;
      refuse(line.number, "names no class: " + problem.text,
             digits  ? kNamesAdvice
             : first ? kHeaderAdvice
                     : kLineAdvice);
    }
    line.label = static_cast<std::int32_t>(*label);
  }
  if (!numbered_) sort();
}

void LabelFile::sort() {
  std::ranges::sort(lines_, [this](const Line& a, const Line& b) {
    const int order = path_of(a).compare(path_of(b));
    return order != 0 ? order < 0 : a.number < b.number;
  });
  for (std::size_t i = 1; i < lines_.size(); ++i) {
    const bool labels = lines_[i].label != lines_[i - 1].label;
    if (path_of(lines_[i]) != path_of(lines_[i - 1])) continue;
    if (!labels && lines_[i].split == lines_[i - 1].split) continue;
    throw Error(ErrorKind::kUsage,
                "lines " + std::to_string(lines_[i - 1].number) + " and " +
                    std::to_string(lines_[i].number) + " of the labels file give '" +
                    printable(path_of(lines_[i])) + "' different " + (labels ? "labels" : "splits"),
                path_, "keep only the right one");
  }
  const auto same = [this](const Line& a, const Line& b) { return path_of(a) == path_of(b); };
  lines_.erase(std::unique(lines_.begin(), lines_.end(), same), lines_.end());
}

const LabelFile::Line* LabelFile::find(std::string_view path) const {
  const auto at = std::lower_bound(
      lines_.begin(), lines_.end(), path,
      [this](const Line& line, std::string_view wanted) { return path_of(line) < wanted; });
  return at != lines_.end() && path_of(*at) == path ? &*at : nullptr;
}

void LabelFile::mark(std::span<const std::string> names) {
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    const Line* found = find(names[rank]);
    if (found == nullptr) continue;
    Line& line = lines_[static_cast<std::size_t>(found - lines_.data())];
    if (rank < line.rank) {
      line.rank = static_cast<std::uint8_t>(rank);
      line.images = 1;
    } else if (rank == line.rank) {
      line.images = 2;
    }
    return;
  }
  if (stranger_.empty() && !names.empty()) stranger_ = names.front();
}

/// Whether a line by another of the image's names, which is no other image's, has another label.
bool LabelFile::says_otherwise(const Line& line, std::span<const std::string> names,
                               Problem& problem) const {
  if (!any_unused_) return false;
  for (const std::string& name : names) {
    const Line* const other = find(name);
    if (other == nullptr || other->rank != kUnused ||
        (other->label == line.label && other->split == line.split))
      continue;
    problem = {Reason::kBadLabel, "lines " + std::to_string(std::min(line.number, other->number)) +
                                      " and " +
                                      std::to_string(std::max(line.number, other->number)) +
                                      " of the labels file say different things of it"};
    return true;
  }
  return false;
}

std::optional<std::int64_t> LabelFile::take(std::span<const std::string> names, Problem& problem,
                                            std::size_t* split) const {
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    const Line* line = find(names[rank]);
    if (line == nullptr) continue;
    if (line->rank < rank) break;  // it names another image better
    if (rank == 0 || line->images < 2) {
      if (says_otherwise(*line, names.subspan(rank + 1), problem)) return std::nullopt;
      if (split != nullptr) *split = line->split;
      return line->label;
    }
    problem = {Reason::kBadLabel,
               "line " + std::to_string(line->number) +
                   " of the labels file names it and others by " +
                   (naming::last_name(names[0]) == names[rank] || names.size() == 2
                        ? "the end of their paths alone"
                        : "names without extension")};
    return std::nullopt;
  }
  refuse_other_form(names);
  problem = {Reason::kNoLabel, "not in the labels file"};
  return std::nullopt;
}

void LabelFile::refuse_other_form(std::span<const std::string> names) const {
  if (unused_forms_.empty()) return;
  for (const std::string& name : names) {
    const auto found = unused_forms_.find(case_folded(name));
    if (found == unused_forms_.end()) continue;
    refuse(found->second,
           "fits '" + printable(names.front()) +
               "' only in another letter case or another Unicode form",
           "write the path as the image's is written");
  }
}

void LabelFile::note_unused(std::vector<std::string>& notes, std::string_view what) {
  const auto unused = [](const Line& line) { return line.rank == kUnused; };
  const auto count = std::ranges::count_if(lines_, unused);
  any_unused_ = count > 0;
  if (!any_unused_) return;
  if (!stranger_.empty()) {
    for (const Line& line : lines_)
      if (unused(line)) unused_forms_.emplace(case_folded(path_of(line)), line.number);
    refuse_other_form(std::array{stranger_});
  }
  if (static_cast<std::size_t>(count) == lines_.size() && !stranger_.empty()) {
    throw Error(ErrorKind::kUsage,
                "the labels file names no " + std::string(what) + ": it has '" +
                    printable(path_of(lines_.front())) + "', but there is '" +
                    printable(stranger_) + "'",
                path_,
                "give the file that belongs to this source; its paths are relative to the source, "
                "or file names");
  }
  const auto first = std::ranges::min_element(
      lines_, [](const Line& a, const Line& b) { return a.number < b.number; });
  const auto alike = std::ranges::count(lines_, first->label, &Line::label);
  if (!sure_of_header_ && unused(*first) && alike == 1 && lines_.size() > 1 &&
      !naming::has_any_image_name(path_of(*first))) {
    refuse(first->number,
           "may be a header: no other has its label, and no " + std::string(what) + " is named '" +
               printable(path_of(*first)) + "'",
           kHeaderAdvice);
  }
  notes.push_back(std::to_string(count) + (count == 1 ? " line" : " lines") +
                  " of the labels file matched no " + std::string(what));
}

}  // namespace packhorse
