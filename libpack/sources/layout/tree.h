#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sources/fields/field_set.h"
#include "sources/layout/source_contents.h"

namespace packhorse {

/// The folders of a source and how many images lie in each: all that its layout depends on. Hidden
/// and junk entries are left out. Memory: some 150 bytes a folder. Thread-safe.
class Tree {
 public:
  using Id = std::uint32_t;
  static constexpr Id kRoot = 0;  ///< the source itself

  struct Folder {
    std::string path;             ///< in the source
    Id parent = kRoot;            ///< of the root: itself
    int depth = 0;                ///< of the root: 0
    std::vector<Id> inside = {};  ///< the folders directly in it, by name
    std::uint64_t images = 0;     ///< directly in it
    std::uint64_t below = 0;      ///< in it and in all folders below
    bool rejects = false;         ///< in or below it lies an input that cannot be packed
    bool of_fields = false;       ///< holds nothing but fields of images elsewhere

    std::string_view name() const;
    /// Whether something in or below it is an input.
    bool holds() const { return below > 0 || rejects; }
  };

  /// Files that may be one of the `fields` count as no images.
  Tree(const SourceContents& contents, const FieldSet& fields);

  const Folder& operator[](Id folder) const { return folders_[folder]; }
  std::size_t size() const { return folders_.size(); }
  std::optional<Id> find(std::string_view path) const;
  /// The folders directly in one that hold() an input, or that do not; without those of fields.
  std::vector<Id> holding(Id folder) const { return some_in(folder, true); }
  std::vector<Id> without_images(Id folder) const { return some_in(folder, false); }
  std::vector<std::string> names_of(const std::vector<Id>& folders) const;

 private:
  Id add(std::string_view path);
  std::vector<Id> some_in(Id folder, bool holding) const;
  void mark_fields(Id folder, const FieldSet& fields);

  std::vector<Folder> folders_;
  std::unordered_map<std::string, Id> ids_;
};

}  // namespace packhorse
