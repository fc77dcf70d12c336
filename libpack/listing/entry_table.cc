#include "listing/entry_table.h"

#include <algorithm>
#include <limits>

#include "base/stop.h"

namespace packhorse {

namespace {

EntryRecord record_of(const EntryTable::Facts& facts, std::uint32_t directory) {
  return {.size = facts.size,
          .stamp = facts.stamp,
          .locator = facts.locator,
          .directory = directory,
          .label = static_cast<std::int32_t>(facts.label),
          .field_bytes = facts.field_bytes,
          .fields = facts.fields};
}

EntryTable::Facts facts_of(const EntryRecord& record) {
  return {record.size,  record.stamp,       record.locator,
          record.label, record.field_bytes, record.fields};
}

/// One entry of a table, held in memory.
struct Look {
  /// Whatever goes through the entries of a source looks at them here, and obeys a stop.
  Look(const EntryBlocks& blocks, std::size_t i)
      : block(blocks.block(i / EntryBlock::kRecords)),
        record(block->records[i % EntryBlock::kRecords]) {
    obey_stop();
  }
  std::string_view name() const { return block->name_of(record); }
  EntryBlocks::Held block;
  const EntryRecord& record;
};

std::string join(std::string_view directory, std::string_view name) {
  std::string path;
  path.reserve(directory.size() + 1 + name.size());
  path += directory;
  if (!path.empty()) path += '/';
  path += name;
  return path;
}

}  // namespace

/// Open addressing with linear probing: lists name files of many directories in any order, and a
/// node for each of a million directories would take more memory than the entries.
bool EntryTable::Facts::add_field(std::size_t field, std::uint64_t bytes) {
  if (bytes > std::numeric_limits<std::uint32_t>::max() - field_bytes) return false;
  field_bytes += static_cast<std::uint32_t>(bytes);
  fields |= std::uint32_t{1} << field;
  return true;
}

std::uint32_t DirectoryNames::number_of(std::string_view directory) {
  if (!places_.empty() && (*this)[last_] == directory) return last_;
  if (2 * (places_.size() + 1) > slots_.size()) rehash();
  std::size_t slot = std::hash<std::string_view>()(directory) & (slots_.size() - 1);
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    last_ = slots_[slot] - 1;
    if ((*this)[last_] == directory) return last_;
  }
  places_.emplace_back(names_.size(), directory.size());
  names_ += directory;
  slots_[slot] = static_cast<std::uint32_t>(places_.size());
  last_ = slots_[slot] - 1;
  return last_;
}

void DirectoryNames::rehash() {
  slots_.assign(std::max<std::size_t>(16, 2 * slots_.size()), 0);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const std::string_view name = (*this)[static_cast<std::uint32_t>(i)];
    std::size_t slot = std::hash<std::string_view>()(name) & (slots_.size() - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

void EntryTable::add(std::string_view directory, std::string_view name, const Facts& facts) {
  blocks_.add(record_of(facts, directories_.number_of(directory)), name);
}

void EntryTable::add_from(const EntryTable& other, std::size_t i) {
  const Look look(other.blocks_, i);
  EntryRecord record = look.record;
  record.directory = directories_.number_of(other.directories_[record.directory]);
  blocks_.add(record, look.name());
}

void EntryTable::append(EntryTable&& other) {
  if (size() == 0 && memory() == other.memory()) {
    *this = std::move(other);
    other = EntryTable(memory());
    return;
  }
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < other.directories_.size(); ++i)
    numbers.push_back(directories_.number_of(other.directories_[i]));
  for (std::size_t b = 0, n = other.blocks_.blocks(); b < n; ++b) {
    {
      const EntryBlocks::Held block = other.blocks_.block_once(b);
      for (EntryRecord record : block->records) {
        const std::string_view name = block->name_of(record);
        record.directory = numbers[record.directory];
        blocks_.add(record, name);
      }
    }
    other.blocks_.drop(b);
  }
  other = EntryTable(other.memory());
}

template <class Change>
void EntryTable::rewrite(const Change& change) {
  EntryBlocks kept(memory());
  for (std::size_t b = 0, n = blocks_.blocks(); b < n; ++b) {
    {
      obey_stop();
      const EntryBlocks::Held block = blocks_.block_once(b);
      for (std::size_t i = 0; i < block->records.size(); ++i) {
        EntryRecord record = block->records[i];
        const std::string_view name = block->name_of(record);
        if (change(b * EntryBlock::kRecords + i, record)) kept.add(record, name);
      }
    }
    blocks_.drop(b);
  }
  blocks_ = std::move(kept);
}

void EntryTable::relabel(const std::function<std::optional<std::int64_t>(std::size_t)>& label_of) {
  rewrite([&](std::size_t i, EntryRecord& record) {
    const std::optional<std::int64_t> label = label_of(i);
    if (label) record.label = static_cast<std::int32_t>(*label);
    return label.has_value();
  });
}

void EntryTable::revise(const std::function<bool(std::size_t, Facts&)>& keep) {
  rewrite([&](std::size_t i, EntryRecord& record) {
    Facts changed = facts_of(record);
    if (!keep(i, changed)) return false;
    changed.label = record.label;
    record = record_of(changed, record.directory);
    return true;
  });
}

void EntryTable::renumber_fields(const std::vector<unsigned>& to) {
  rewrite([&](std::size_t, EntryRecord& record) {
    const std::uint32_t before = std::exchange(record.fields, 0u);
    for (std::size_t f = 0; f < to.size(); ++f)
      if ((before >> f & 1u) != 0) record.fields |= std::uint32_t{1} << to[f];
    return true;
  });
}

EntryTable::Facts EntryTable::facts(std::size_t i) const {
  return facts_of(Look(blocks_, i).record);
}

std::string_view EntryTable::directory_of(std::size_t i) const {
  return directories_[Look(blocks_, i).record.directory];
}

std::string EntryTable::path_of(std::size_t i) const {
  const Look look(blocks_, i);
  return join(directories_[look.record.directory], look.name());
}

std::size_t EntryTable::path_length(std::size_t i) const {
  const Look look(blocks_, i);
  const std::size_t directory = directories_[look.record.directory].size();
  return directory + (directory > 0 ? 1 : 0) + look.record.name_length;
}

EntryTable::Entry EntryTable::operator[](std::size_t i) const {
  const Look look(blocks_, i);
  return {facts_of(look.record), join(directories_[look.record.directory], look.name())};
}

}  // namespace packhorse
