#include "packhorse/listing/entry_table.h"

#include <algorithm>
#include <string>
#include <utility>

namespace packhorse {

void EntryTable::add(std::string_view directory, std::string_view name, const Facts& facts) {
  const std::uint32_t number = directory_number(directory);
  records_.push_back({facts.size, facts.stamp, facts.locator, names_.size(), number,
                      static_cast<std::int32_t>(facts.label),
                      static_cast<std::uint32_t>(name.size()), facts.field_bytes, facts.fields});
  names_ += name;
}

void EntryTable::add_from(const EntryTable& other, std::size_t i) {
  const Record& record = other.records_[i];
  add(other.name_of(other.directories_[record.directory]), other.name_of(record), other.facts(i));
}

void EntryTable::append(EntryTable&& other) {
  if (records_.empty()) {
    *this = std::move(other);
    return;
  }
  const std::uint64_t shift = names_.size();
  names_ += other.names_;
  std::vector<std::uint32_t> numbers;
  for (const Directory& directory : other.directories_)
    numbers.push_back(directory_number(other.name_of(directory)));
  for (Record record : other.records_) {
    record.name += shift;
    record.directory = numbers[record.directory];
    records_.push_back(record);
  }
}

void EntryTable::relabel(const std::function<std::optional<std::int64_t>(std::size_t)>& label_of) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const std::optional<std::int64_t> label = label_of(i);
    if (!label) continue;
    records_[kept] = records_[i];
    records_[kept++].label = static_cast<std::int32_t>(*label);
  }
  records_.resize(kept);
}

void EntryTable::revise(const std::function<bool(std::size_t, Facts&)>& keep) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    Facts changed = facts(i);
    if (!keep(i, changed)) continue;
    Record& record = records_[kept++] = records_[i];
    record.size = changed.size;
    record.stamp = changed.stamp;
    record.locator = changed.locator;
    record.field_bytes = changed.field_bytes;
    record.fields = changed.fields;
  }
  records_.resize(kept);
}

void EntryTable::renumber_fields(const std::vector<unsigned>& to) {
  for (Record& record : records_) {
    const std::uint32_t before = std::exchange(record.fields, 0u);
    for (std::size_t f = 0; f < to.size(); ++f)
      if ((before >> f & 1u) != 0) record.fields |= std::uint32_t{1} << to[f];
  }
}

/// The directory's place in directories_; a new directory is added. Open addressing with linear
/// probing: lists name files of many directories in any order, and a node for each of a million
/// directories would take more memory than the entries.
std::uint32_t EntryTable::directory_number(std::string_view directory) {
  if (!records_.empty() && name_of(directories_[records_.back().directory]) == directory)
    return records_.back().directory;
  if (2 * (directories_.size() + 1) > slots_.size()) rehash();
  std::size_t slot = std::hash<std::string_view>()(directory) & (slots_.size() - 1);
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    if (name_of(directories_[slots_[slot] - 1]) == directory) return slots_[slot] - 1;
  }
  directories_.push_back({names_.size(), directory.size()});
  names_ += directory;
  slots_[slot] = static_cast<std::uint32_t>(directories_.size());
  return slots_[slot] - 1;
}

void EntryTable::rehash() {
  slots_.assign(std::max<std::size_t>(16, 2 * slots_.size()), 0);
  for (std::size_t i = 0; i < directories_.size(); ++i) {
    std::size_t slot =
        std::hash<std::string_view>()(name_of(directories_[i])) & (slots_.size() - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

EntryTable::Facts EntryTable::facts(std::size_t i) const {
  const Record& record = records_[i];
  return {record.size,  record.stamp,       record.locator,
          record.label, record.field_bytes, record.fields};
}

std::string EntryTable::path_of(std::size_t i) const {
  const Record& record = records_[i];
  const std::string_view directory = directory_of(i);
  std::string path;
  path.reserve(directory.size() + 1 + record.name_length);
  path += directory;
  if (!path.empty()) path += '/';
  path += name_of(record);
  return path;
}

std::size_t EntryTable::path_length(std::size_t i) const {
  const Record& record = records_[i];
  const std::size_t directory = name_of(directories_[record.directory]).size();
  return directory + (directory > 0 ? 1 : 0) + record.name_length;
}

EntryTable::Entry EntryTable::operator[](std::size_t i) const { return {facts(i), path_of(i)}; }

/// Compares "directory/name" without joining them where the directories tell.
bool EntryTable::path_less(const Record& a, const Record& b) const {
  if (a.directory == b.directory) return name_of(a) < name_of(b);
  const std::string_view in_a = name_of(directories_[a.directory]);
  const std::string_view in_b = name_of(directories_[b.directory]);
  const std::size_t common = std::min(in_a.size(), in_b.size());
  if (const int order = in_a.substr(0, common).compare(in_b.substr(0, common)); order != 0)
    return order < 0;
  const auto path = [](std::string_view directory, std::string_view name) {
    return directory.empty() ? std::string(name) : std::string(directory) + '/' + std::string(name);
  };
  return path(in_a, name_of(a)) < path(in_b, name_of(b));
}

void EntryTable::sort_by_path() {
  const auto less = [this](const Record& a, const Record& b) { return path_less(a, b); };
  if (!std::is_sorted(records_.begin(), records_.end(), less))
    std::sort(records_.begin(), records_.end(), less);
}

}  // namespace packhorse
