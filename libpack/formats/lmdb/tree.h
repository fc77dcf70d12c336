#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "formats/lmdb/pages.h"
#include "packhorse/base/bytes.h"

namespace packhorse::lmdb {

/// Lays out an LMDB database from front to back, as the keys come. Everything goes to disk once, in
/// order, past the page cache, which LMDB's own writer cannot do. All but the last page of each
/// kind are full. One thread.
class Tree {
 public:
  /// Takes the file's bytes after the meta pages. If empty, nothing is written, only counted.
  using Append = std::function<void(Bytes)>;
  /// Receives the place in the file of the value with this tag.
  using Placed = std::function<void(std::uint64_t tag, std::uint64_t offset)>;
  static constexpr std::uint64_t kNoTag = ~std::uint64_t{0};

  explicit Tree(Append append = {}, Placed placed = {});

  /// Keys must be strictly increasing, of at most kMaxKeyBytes, and values at most kMaxValueBytes.
  /// `pieces` make up the value of `size` bytes; none are needed when nothing is written.
  void add(std::string_view key, std::uint64_t size, std::initializer_list<Bytes> pieces,
           std::uint64_t tag);
  /// Ends the last pages. Returns the meta pages, which are the file's first bytes and depend on
  /// nothing but the keys and the sizes of the values.
  std::string finish();

 private:
  struct Child {
    std::string key;  ///< the first of its keys
    std::uint64_t page;
  };
  struct Level {
    std::vector<Child> children;
    std::size_t bytes = 0;  ///< that the children's nodes take
  };
  struct Pending {
    std::uint64_t tag;
    std::size_t offset;  ///< in the leaf
  };

  std::uint64_t add_overflow(std::uint64_t size, std::initializer_list<Bytes> pieces);
  void end_leaf();
  void add_child(std::size_t level, Child child);
  void end_branch(std::size_t level);
  void append(Bytes bytes) const;
  std::string meta_pages(std::uint64_t root, std::size_t depth) const;

  Append append_;
  Placed placed_;
  std::vector<std::byte> leaf_;  ///< the page being filled
  std::size_t lower_ = kPageHead, upper_ = kPageBytes;
  std::string leaf_key_;  ///< the first key in the page
  std::vector<Pending> pending_;
  std::vector<Level> levels_;  ///< branches; those just above the leaves come first
  std::uint64_t next_page_ = kMetaPages;
  std::uint64_t branches_ = 0, leaves_ = 0, overflows_ = 0, entries_ = 0;
};

}  // namespace packhorse::lmdb
