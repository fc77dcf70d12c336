#include "annotations/class_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/printable.h"
#include "base/text.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::string_view kSeparators = "|;,";

void add_names(std::string_view text, char separator, std::vector<std::string>& names) {
  if (text.starts_with('[')) {
    for (const ExactJson& name : parse_json(text)) {
      if (!name.is_string() && !name.is_number_integer())
        throw Error(ErrorKind::kUsage, "an element is neither a text nor an integer");
      names.push_back(name.is_string() ? std::string(trimmed(name.get_ref<const std::string&>()))
                                       : name.dump());
    }
    return;
  }
  for (const std::string_view part : split_text(text, separator)) {
    if (const std::string_view name = trimmed(part); !name.empty()) names.emplace_back(name);
  }
}

/// Sorts labels, of which each may be there once.
void sort_once(std::vector<std::int32_t>& labels) {
  std::ranges::sort(labels);
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
}

}  // namespace

ClassTable::ClassTable(const TablePlace& place)
    : file_(LabelFile::texts(place.file, LabelColumns{.label = place.column, .several = true})) {}

void ClassTable::refuse(std::size_t text, const std::string& what,
                        const std::string& advice) const {
  throw Error(
      ErrorKind::kUsage,
      "line " + std::to_string(file_.place_of_text(text).line) + " of the table of classes " + what,
      file_.path(), advice);
}

/// What separates the names in cells: the first of kSeparators that any has, or else a space.
char ClassTable::find_separator() {
  std::array<std::optional<std::size_t>, kSeparators.size()> first;  // place of a text that has it
  bool blanks = false;
  const auto for_cells = [&](const auto& visit) {
    for (std::size_t i = 0; i < file_.labels().size(); ++i)
      for (const std::string_view cell : split_text(file_.labels()[i], '\n'))
        if (!cell.starts_with('[')) visit(i, cell);
  };
  for_cells([&](std::size_t i, std::string_view cell) {
    blanks = blanks || cell.find(' ') != std::string_view::npos;
    for (std::size_t s = 0; s < kSeparators.size(); ++s)
      if (!first[s] && cell.find(kSeparators[s]) != std::string_view::npos) first[s] = i;
  });
  const auto found = std::ranges::find_if(first, [](const auto& text) { return text.has_value(); });
  const char separator =
      found == first.end() ? ' ' : kSeparators[static_cast<std::size_t>(found - first.begin())];
  for_cells([&](std::size_t i, std::string_view cell) {
    if (separator == ' ' || cell.find(separator) != std::string_view::npos ||
        cell.find_first_of(kSeparators) == std::string_view::npos)
      return;
    refuse(i,
           "separates names otherwise than line " +
               std::to_string(file_.place_of_text(**found).line) + ": '" + printable(cell) +
               "' and '" + printable(file_.labels()[**found]) + "'",
           std::string("write one separator in all cells; where it is '") + separator +
               "', a name with another one is written 'a, b" + separator + "'");
  });
  if (separator != ' ' || blanks)
    note_ = "in '" + printable(file_.path().filename().native()) +
            "' the classes of an image are " +
            (separator == ' ' ? "separated by blanks"
                              : std::string("separated by '") + separator + "'");
  return separator;
}

void ClassTable::read_lists() {
  const char separator = find_separator();
  for (const std::string& text : file_.labels()) {
    std::vector<std::string>& names = lists_.emplace_back();
    try {
      for (const std::string_view line : split_text(text, '\n')) add_names(line, separator, names);
    } catch (const Error& error) {
      refuse(lists_.size() - 1,
             "has a list that is none, '" + printable(text) + "': " + error.what(),
             "a cell has the names of classes: cat|dog");
    }
  }
}

/// A column that counts the rows is an index, as pandas writes it ("Unnamed: 0"), and no class.
void ClassTable::refuse_counting() const {
  constexpr std::size_t kFewRows = 3;
  if (scores_.size() < kFewRows) return;
  for (std::size_t c = 0; c < columns().size(); ++c) {
    bool counts = true;
    for (std::size_t i = 1; i < scores_.size(); ++i)
      counts = counts && scores_[i][c] == scores_[i - 1][c] + 1;
    if (counts)
      throw Error(
          ErrorKind::kUsage,
          "the column '" + printable(columns()[c]) + "' numbers the rows, so it cannot be a class",
          file_.path(), "take it out: with pandas, to_csv(index=False)");
  }
}

void ClassTable::read_columns() {
  for (const std::string& name : columns()) check_class_name(name, {&file_.path(), 1});
  if (const auto found = lookalikes_in(columns()))
    throw Error(ErrorKind::kUsage,
                "the columns '" + printable(columns()[found->first]) + "' and '" +
                    printable(columns()[found->second]) +
                    "' differ only in letter case or in their Unicode form",
                file_.path(), "rename one of them");
  bool minus = false, zero = false, flags = true;
  for (const std::string& text : file_.labels()) {
    std::vector<float>& row = scores_.emplace_back();
    for (const std::string_view cell : split_text(text, '\t')) {
      const auto value = parse_number<float>(cell);
      if (!value || !std::isfinite(*value)) {
        const bool twice = cell.find('\n') != std::string_view::npos;
        refuse(scores_.size() - 1,
               twice ? "has two rows for one image"
                     : "has a cell that is not a number: '" + printable(std::string(cell)) + "'",
               "give a column for each class, of 0 and 1, or of scores");
      }
      minus = minus || *value == -1;
      zero = zero || *value == 0;
      flags = flags && (*value == -1 || *value == 0 || *value == 1);
      row.push_back(*value);
    }
  }
  refuse_counting();
  if (!flags) return;
  if (minus && zero)
    throw Error(ErrorKind::kUsage,
                "the table of classes has -1, 0 and 1, and it is not clear which of them say that "
                "an image has a class",
                file_.path(), "write 1 for a class that it has, and 0 for all else");
  for (const std::vector<float>& row : scores_) {
    std::vector<std::uint32_t>& marked = marked_.emplace_back();
    for (std::uint32_t c = 0; c < row.size(); ++c)
      if (row[c] == 1) marked.push_back(c);
  }
  scores_.clear();
}

/// Adds each name once: a table may have as many columns as it has rows.
void ClassTable::add_columns_to(LabelNames& names) const {
  const std::vector<std::string>& all = columns();
  if (!scores_.empty())
    for (const std::string& name : all) names.add(name, file_.place_of_text(0));
  std::vector<bool> added(all.size());
  for (std::size_t i = 0; i < marked_.size(); ++i) {
    for (const std::uint32_t c : marked_[i]) {
      if (!added[c]) names.add(all[c], file_.place_of_text(i));
      added[c] = true;
    }
  }
}

void ClassTable::add_to(LabelNames& names) {
  if (!columns().empty()) {
    read_columns();
    return add_columns_to(names);
  }
  read_lists();
  for (std::size_t i = 0; i < lists_.size(); ++i)
    for (const std::string& name : lists_[i]) names.add(name, file_.place_of_text(i));
}

std::int32_t ClassTable::label_of(std::size_t text, const std::string& name,
                                  const LabelNames& names) const {
  Problem problem;
  const auto label = names.label(name, problem);
  if (!label)
    refuse(text, "names no class: " + problem.text, "give all classes with `target_classes=`");
  return static_cast<std::int32_t>(*label);
}

void ClassTable::resolve_columns(const LabelNames& names) {
  const std::vector<std::string>& all = columns();
  std::vector<std::optional<std::int32_t>> labels(all.size());
  const auto label_at = [&](std::size_t text, std::size_t column) {
    if (!labels[column]) labels[column] = label_of(text, all[column], names);
    return *labels[column];
  };
  for (std::size_t i = 0; i < marked_.size(); ++i) {
    ClassSet& set = sets_.emplace_back();
    for (const std::uint32_t c : marked_[i]) set.labels.push_back(label_at(i, c));
    sort_once(set.labels);
  }
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    std::vector<std::pair<std::int32_t, float>> found;
    for (std::size_t c = 0; c < all.size(); ++c) found.emplace_back(label_at(i, c), scores_[i][c]);
    std::ranges::sort(found);
    ClassSet& set = sets_.emplace_back();
    for (const auto& [label, score] : found) {
      if (!set.labels.empty() && set.labels.back() == label) continue;  // by name and by place
      set.labels.push_back(label);
      set.scores.push_back(score);
    }
  }
}

void ClassTable::resolve(const LabelNames& names) {
  resolve_columns(names);
  for (std::size_t i = 0; i < lists_.size(); ++i) {
    ClassSet& set = sets_.emplace_back();
    for (const std::string& name : lists_[i]) set.labels.push_back(label_of(i, name, names));
    sort_once(set.labels);
  }
  lists_.clear();
  marked_.clear();
  scores_.clear();
}

}  // namespace packhorse
