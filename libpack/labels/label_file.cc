#include "labels/label_file.h"

#include <algorithm>
#include <array>

#include "labels/row_reader.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "packhorse/base/printable.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const fs::path& path, std::uint64_t line, const std::string& what) {
  throw Error(ErrorKind::kUsage, "line " + std::to_string(line) + " of the labels file " + what,
              path,
              "each line is an image's path and its label, separated by a tab, a comma or a "
              "space");
}

std::string_view trimmed(std::string_view line) {
  return line.substr(0, line.find_last_not_of(" \t\r") + 1);
}

/// The first separator that every line has.
char separator_of(int fd, const fs::path& path) {
  constexpr std::array kSeparators = {'\t', ',', ' '};
  std::array<std::uint64_t, 3> without{};  // first line without it
  RowReader reader(fd, path, kLines);
  Row row;
  while (reader.next(row)) {
    const std::string_view line = trimmed(row.cells[0]);
    for (std::size_t s = 0; s < kSeparators.size(); ++s) {
      if (without[s] == 0 && line.find(kSeparators[s]) == std::string_view::npos)
        without[s] = row.line;
    }
  }
  for (std::size_t s = 0; s < kSeparators.size(); ++s) {
    if (without[s] == 0) return kSeparators[s];
  }
  refuse(path, *std::max_element(without.begin(), without.end()), "has no label");
}

bool is_header(std::string_view label) {
  const std::string word = lower_case(label);
  return word == "label" || word == "class" || word == "target";
}

}  // namespace

LabelFile::LabelFile(const fs::path& path, std::vector<std::string> classes)
    : file_(path), names_(std::move(classes)) {
  read(path);
  if (lines_.empty()) throw Error(ErrorKind::kUsage, "the labels file is empty", path);
  sort(path);
}

void LabelFile::read(const fs::path& path) {
  const UniqueFd fd = open_for_reading(path);
  const char separator = separator_of(fd.get(), path);
  std::map<std::string, std::int32_t, std::less<>> numbers;
  Row row;
  bool first = true;
  for (RowReader reader(fd.get(), path, separator == ',' ? kCsv : kLines); reader.next(row);
       first = false) {
    std::string_view name, label;
    if (separator == ',') {
      if (row.cells.size() != 2)
        refuse(path, row.line, "has " + std::to_string(row.cells.size()) + " columns instead of 2");
      name = row.cells[0];
      label = trimmed(row.cells[1]);
      label.remove_prefix(std::min(label.find_first_not_of(' '), label.size()));
    } else {
      const std::string_view line = trimmed(row.cells[0]);
      const std::size_t at = line.rfind(separator);
      name = at == std::string_view::npos ? line : trimmed(line.substr(0, at));
      label = at == std::string_view::npos ? std::string_view() : line.substr(at + 1);
    }
    while (name.starts_with("./")) name.remove_prefix(2);
    if (name.empty() || label.empty())
      refuse(path, row.line, name.empty() ? "has no path" : "has no label");
    if (first && is_header(label)) continue;
    auto known = numbers.find(label);
    if (known == numbers.end()) {
      known = numbers.emplace(label, static_cast<std::int32_t>(numbers.size())).first;
      names_.add(label);
    }
    lines_.push_back({text_.size(), static_cast<std::uint32_t>(name.size()),
                      static_cast<std::uint32_t>(row.line), known->second});
    text_ += name;
  }
  names_.finish();
  std::vector<std::string_view> texts(numbers.size());
  for (const auto& [text, number] : numbers) texts[static_cast<std::size_t>(number)] = text;
  for (Line& line : lines_) {
    std::string reason;
    const auto label = names_.label(texts[static_cast<std::size_t>(line.label)], reason);
    if (!label) refuse(path, line.number, "names no class: " + reason);
    line.label = static_cast<std::int32_t>(*label);
  }
}

void LabelFile::sort(const fs::path& path) {
  std::sort(lines_.begin(), lines_.end(), [this](const Line& a, const Line& b) {
    const int order = path_of(a).compare(path_of(b));
    return order != 0 ? order < 0 : a.number < b.number;
  });
  for (std::size_t i = 1; i < lines_.size(); ++i) {
    if (path_of(lines_[i]) != path_of(lines_[i - 1]) || lines_[i].label == lines_[i - 1].label)
      continue;
    throw Error(ErrorKind::kUsage,
                "lines " + std::to_string(lines_[i - 1].number) + " and " +
                    std::to_string(lines_[i].number) + " of the labels file give '" +
                    printable(path_of(lines_[i])) + "' different labels",
                path, "keep only the right one");
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

void LabelFile::mark(std::string_view path, std::string_view alone) {
  if (const Line* line = find(path)) {
    lines_[static_cast<std::size_t>(line - lines_.data())].by_path = 1;
    return;
  }
  if (const Line* line = find(alone)) {
    std::uint16_t& count = lines_[static_cast<std::size_t>(line - lines_.data())].by_name;
    count = std::min<std::uint16_t>(static_cast<std::uint16_t>(count + 1), 2);
  } else if (stranger_.empty()) {
    stranger_ = path;
  }
}

std::optional<std::int64_t> LabelFile::take(std::string_view path, std::string_view alone,
                                            std::string& reason) const {
  if (const Line* line = find(path)) return line->label;
  const Line* line = find(alone);
  if (line == nullptr || line->by_path > 0) {
    reason = "not in the labels file";
  } else if (line->by_name > 1) {
    reason = "line " + std::to_string(line->number) +
             " of the labels file names it and others by the end of their paths alone";
  } else {
    return line->label;
  }
  return std::nullopt;
}

void LabelFile::note_unused(std::vector<std::string>& notes, std::string_view what) const {
  const auto unused = std::count_if(lines_.begin(), lines_.end(), [](const Line& line) {
    return line.by_path == 0 && line.by_name == 0;
  });
  if (unused == 0) return;
  if (static_cast<std::size_t>(unused) == lines_.size() && !stranger_.empty()) {
    throw Error(ErrorKind::kUsage,
                "the labels file names no " + std::string(what) + ": it has '" +
                    printable(path_of(lines_.front())) + "', but there is '" +
                    printable(stranger_) + "'",
                file_,
                "give the file that belongs to this source; its paths are relative to the source, "
                "or file names, with their extension");
  }
  notes.push_back(std::to_string(unused) + (unused == 1 ? " line" : " lines") +
                  " of the labels file matched no " + std::string(what));
}

void apply_labels(LabelFile& labels, Listing& listing) {
  const auto path = [](const SplitListing& split, std::size_t i) {
    return naming::join(split.origin, split.entries.path_of(i));
  };
  for (const SplitListing& split : listing.splits) {
    for (std::size_t i = 0; i < split.entries.size(); ++i) labels.mark(path(split, i));
  }
  for (SplitListing& split : listing.splits) {
    split.entries.relabel([&](std::size_t i) {
      std::string reason;
      const auto label = labels.take(path(split, i), reason);
      if (!label) split.rejects.push_back({printable(split.entries.path_of(i)), reason});
      return label;
    });
  }
  labels.note_unused(listing.notes, "image of the source");
}

}  // namespace packhorse
