#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace packhorse {

/// The entries of one split in compact form: 58 bytes each plus the file name. Grows without ever
/// holding them twice.
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
  };
  struct Entry : Facts {
    std::string path;  ///< relative to the split's root; bytes as the file system has them
  };

  void add(std::string_view directory, std::string_view name, const Facts& facts);
  std::size_t size() const { return records_.size(); }
  Entry operator[](std::size_t i) const;
  Facts facts(std::size_t i) const;
  std::uint64_t size_of(std::size_t i) const { return records_[i].size; }
  std::int64_t label_of(std::size_t i) const { return records_[i].label; }
  std::string path_of(std::size_t i) const;
  /// The directory that path_of() begins with, "" for none. The view is valid until an entry is
  /// added.
  std::string_view directory_of(std::size_t i) const {
    return name_of(directories_[records_[i].directory]);
  }
  std::size_t path_length(std::size_t i) const;
  /// Sorts by path, byte by byte, so that the order never depends on the file system.
  void sort_by_path();
  /// Adds entry `i` of another table, in any order of the `i`.
  void add_from(const EntryTable& other, std::size_t i);
  /// Adds all entries of another table.
  void append(EntryTable&& other);
  /// Renumbers the extra fields: what was field f becomes field `to[f]`.
  void renumber_fields(const std::vector<unsigned>& to);
  /// Gives entry `i` the label `label_of(i)`, and drops the entry when that is none.
  void relabel(const std::function<std::optional<std::int64_t>(std::size_t)>& label_of);
  /// Lets `keep` change the facts of each entry but its label, and drops those for which it is
  /// false.
  void revise(const std::function<bool(std::size_t, Facts&)>& keep);

 private:
  struct Record {
    std::uint64_t size;
    std::int64_t stamp;
    std::uint64_t locator;
    std::uint64_t name;  ///< where the name starts in names_
    std::uint32_t directory;
    std::int32_t label;
    std::uint32_t name_length;
    std::uint32_t field_bytes;
    std::uint32_t fields;
  };
  struct Directory {
    std::uint64_t name;  ///< where its name starts in names_
    std::uint64_t length;
  };
  std::uint32_t directory_number(std::string_view directory);
  void rehash();
  bool path_less(const Record& a, const Record& b) const;
  std::string_view name_of(const Record& record) const {
    return std::string_view(names_).substr(record.name, record.name_length);
  }
  std::string_view name_of(const Directory& directory) const {
    return std::string_view(names_).substr(directory.name, directory.length);
  }
  std::deque<Record> records_;  ///< in pieces: growing neither copies nor doubles it
  std::vector<Directory> directories_;
  std::vector<std::uint32_t> slots_;  ///< directories_ by name: a hash table, 0 = free, else 1 + i
  std::string names_;
};

}  // namespace packhorse
