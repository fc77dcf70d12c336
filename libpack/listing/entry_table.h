#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/permutation.h"
#include "listing/entry_blocks.h"

namespace packhorse {

/// The directories of paths, by number. Memory: their names and about 24 bytes each.
class DirectoryNames {
 public:
  /// The directory's number; a new one is added.
  std::uint32_t number_of(std::string_view directory);
  std::string_view operator[](std::uint32_t number) const {
    return std::string_view(names_).substr(places_[number].first, places_[number].second);
  }
  std::size_t size() const { return places_.size(); }

 private:
  void rehash();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places_;  ///< begin and length in names_
  std::vector<std::uint32_t> slots_;  ///< places_ by name: a hash table, 0 = free, else 1 + i
  std::string names_;
  std::uint32_t last_ = 0;
};

/// The entries of one split in compact form: 48 bytes each plus the file name, and each directory
/// once. Beyond the memory of an EntryMemory they are in its file; random accesses are then slow.
/// Any thread may read; one thread may change while none reads. What changes the table throws as
/// EntryBlocks::add(), what reads as EntryMemory::read().
class EntryTable {
 public:
  /// All numbers of an entry.
  struct Facts {
    std::uint64_t size = 0;     ///< bytes of the image
    std::int64_t stamp = 0;     ///< differs when the input has changed; 0 = the source has none
    std::uint64_t locator = 0;  ///< for the source itself; reads near each other in it are cheap
    std::int64_t label = 0;
    std::uint32_t field_bytes = 0;  ///< bytes of all extra fields together
    std::uint32_t fields = 0;       ///< bit f: it has field f of Listing::fields

    /// Adds a field. Returns false, and changes nothing, when all have more than 4 GiB together.
    [[nodiscard]] bool add_field(std::size_t field, std::uint64_t bytes);
  };
  struct Entry : Facts {
    std::string path;  ///< relative to the split's root; bytes as the file system has them
  };

  EntryTable() = default;  ///< everything stays in memory
  /// Stays within `memory`; null: everything stays in memory.
  explicit EntryTable(std::shared_ptr<EntryMemory> memory) : blocks_(std::move(memory)) {}

  void add(std::string_view directory, std::string_view name, const Facts& facts);
  std::size_t size() const { return blocks_.size(); }
  Entry operator[](std::size_t i) const;
  Facts facts(std::size_t i) const;
  std::uint64_t size_of(std::size_t i) const { return facts(i).size; }
  std::int64_t label_of(std::size_t i) const { return facts(i).label; }
  std::string path_of(std::size_t i) const;
  /// The directory that path_of() begins with, "" for none. The view is valid until an entry is
  /// added.
  std::string_view directory_of(std::size_t i) const;
  std::size_t path_length(std::size_t i) const;
  /// Counts the last entries, too, as part of the memory, or puts them into the file: for tables
  /// that wait. Everything else does so for 4,096 entries at a time.
  void settle() { blocks_.settle(); }
  /// Whether entries are in a file.
  bool in_file() const { return blocks_.in_file(); }
  const std::shared_ptr<EntryMemory>& memory() const { return blocks_.memory(); }

  /// Sorts by path, byte by byte, so that the order never depends on the file system. Equal paths
  /// keep their order.
  void sort_by_path();
  /// Sorts so that what was entry `order(i)` is entry i.
  void permute(const Permutation& order);
  /// Adds entry `i` of another table, in any order of the `i`.
  void add_from(const EntryTable& other, std::size_t i);
  /// Adds all entries of another table.
  void append(EntryTable&& other);
  /// Renumbers the extra fields: what was field f becomes field `to[f]`.
  void renumber_fields(const std::vector<unsigned>& to);
  /// Gives entry `i` the label `label_of(i)`, and drops the entry when it has none. Entry `i` and
  /// those after it may be read meanwhile.
  void relabel(const std::function<std::optional<std::int64_t>(std::size_t)>& label_of);
  /// Lets `keep` change the facts of each entry but its label, and drops those for which it is
  /// false. Entry `i` and those after it may be read meanwhile.
  void revise(const std::function<bool(std::size_t, Facts&)>& keep);

 private:
  /// Replaces each record by what `change` makes of it, and drops those for which it is false.
  template <class Change>
  void rewrite(const Change& change);
  bool path_less(const EntryBlock& block_a, const EntryRecord& a, const EntryBlock& block_b,
                 const EntryRecord& b) const;
  bool is_sorted() const;
  class Runs;

  EntryBlocks blocks_;
  DirectoryNames directories_;
};

}  // namespace packhorse
