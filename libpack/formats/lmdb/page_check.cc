#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/file.h"
#include "formats/lmdb/foreign_database.h"
#include "formats/lmdb/pages.h"
#include "packhorse/base/error.h"

namespace packhorse::lmdb {

namespace fs = std::filesystem;

namespace {

constexpr unsigned kDeepest = 32;
constexpr unsigned kKindMask = 0x6f;  // without the flags that mean nothing on the disk
constexpr unsigned kSubDatabase = 2, kDuplicates = 4;  // flags of nodes

template <class T>
T number_at(Bytes page, std::uint64_t offset) {
  T value{};
  std::memcpy(&value, page.data() + offset, sizeof value);
  return value;
}

struct StoredTree {
  unsigned flags = 0, depth = 0;
  std::uint64_t entries = 0, root = kNoPage;
};

class PageCheck {
 public:
  explicit PageCheck(const fs::path& path)
      : path_(path), fd_(open_for_reading(path)), file_bytes_(file_size(fd_.get(), path)) {}

  void run() {
    const StoredTree tree = read_meta();
    if (tree.flags != 0) {
      throw Error(ErrorKind::kUnsupported,
                  "the database has several values per key, or its own order of keys", path_,
                  "rewrite it with one value per key, or write the images to files and pack those");
    }
    if (tree.depth > kDeepest) corrupt("its tree is too deep");
    if (tree.root != kNoPage) walk(tree.root, tree.depth);
    if (entries_ != tree.entries) corrupt("its number of entries is wrong");
  }

 private:
  [[noreturn]] void corrupt(const std::string& what) const {
    throw Error(ErrorKind::kCorrupt, "damaged LMDB: " + what, path_,
                "get a fresh copy from where it came from");
  }

  /// The newer of the two meta pages says where the tree is.
  StoredTree read_meta() {
    constexpr std::uint64_t kBytes = kMetaTransaction + 8;
    std::array<std::byte, kBytes> meta{};
    StoredTree tree;
    std::uint64_t newest = 0;
    for (std::uint64_t page = 0; page < kMetaPages; ++page) {
      if (file_bytes_ < page * page_bytes_ + kBytes) corrupt("it is too short");
      read_exactly(fd_.get(), page * page_bytes_, meta, path_);
      if (number_at<std::uint32_t>(meta, kMetaMagic) != kMagic ||
          (number_at<std::uint16_t>(meta, 10) & kMetaPage) == 0) {
        corrupt("a meta page is invalid");
      }
      if (number_at<std::uint32_t>(meta, kMetaVersion) != kDataVersion) {
        throw Error(ErrorKind::kUnsupported, "the LMDB file has an unsupported version", path_,
                    "copy it with the tools of LMDB 0.9: mdb_dump, then mdb_load");
      }
      const auto page_bytes = number_at<std::uint32_t>(meta, kMetaFree + kDbPad);
      if (page_bytes < 512 || page_bytes > 65536 || (page_bytes & (page_bytes - 1)) != 0 ||
          (page == 1 && page_bytes != page_bytes_)) {
        corrupt("its page size is impossible");
      }
      page_bytes_ = page_bytes;
      const auto transaction = number_at<std::uint64_t>(meta, kMetaTransaction);
      if (page == 1 && transaction <= newest) continue;
      newest = transaction;
      tree = {number_at<std::uint16_t>(meta, kMetaMain + kDbFlags),
              number_at<std::uint16_t>(meta, kMetaMain + kDbDepth),
              number_at<std::uint64_t>(meta, kMetaMain + kDbEntries),
              number_at<std::uint64_t>(meta, kMetaMain + kDbRoot)};
    }
    return tree;
  }

  std::uint64_t pages() const { return file_bytes_ / page_bytes_; }

  void walk(std::uint64_t number, unsigned depth) {
    if (depth == 0 || ++visited_ > pages()) corrupt("its tree has a loop");
    const std::vector<std::byte> page = read_page(number);
    const unsigned kind = number_at<std::uint16_t>(page, 10) & unsigned{kKindMask};
    if (kind != (depth == 1 ? kLeafPage : kBranchPage)) corrupt("a page is of the wrong kind");
    const auto lower = number_at<std::uint16_t>(page, 12);
    const auto upper = number_at<std::uint16_t>(page, 14);
    if (lower < kPageHead || lower > upper || upper > page_bytes_)
      corrupt("a page's bounds are invalid");
    const std::uint64_t nodes = (lower - kPageHead) / 2;
    // liblmdb ends the program at a branch with a single node.
    if (nodes < (depth == 1 ? 1u : 2u)) corrupt("a page has too few nodes");
    for (std::uint64_t i = 0; i < nodes; ++i) {
      const auto at = number_at<std::uint16_t>(page, kPageHead + 2 * i);
      if (at < upper || at + kNodeHead > page_bytes_) corrupt("a node lies outside its page");
      const auto key_bytes = number_at<std::uint16_t>(page, at + 6u);
      if (at + kNodeHead + key_bytes > page_bytes_) corrupt("a key runs past its page");
      if (depth == 1) {
        check_leaf(page, at, key_bytes);
      } else {
        walk(number_at<std::uint16_t>(page, at) |
                 std::uint64_t{number_at<std::uint16_t>(page, at + 2u)} << 16 |
                 std::uint64_t{number_at<std::uint16_t>(page, at + 4u)} << 32,
             depth - 1);
      }
    }
  }

  std::vector<std::byte> read_page(std::uint64_t number) {
    if (number < kMetaPages || number >= pages()) corrupt("a page number lies outside the file");
    std::vector<std::byte> page(page_bytes_);
    read_exactly(fd_.get(), number * page_bytes_, page, path_);
    if (number_at<std::uint64_t>(page, 0) != number) corrupt("a page has the wrong number");
    return page;
  }

  void check_leaf(const std::vector<std::byte>& page, std::uint64_t at, std::uint64_t key_bytes) {
    const auto flags = number_at<std::uint16_t>(page, at + 4);
    if ((flags & (kSubDatabase | kDuplicates)) != 0) {
      throw Error(
          ErrorKind::kUnsupported, "the file holds named databases", path_,
          "copy the one with the samples into its own file: mdb_dump -s NAME, then mdb_load");
    }
    const std::uint64_t value_bytes = number_at<std::uint16_t>(page, at) |
                                      std::uint64_t{number_at<std::uint16_t>(page, at + 2)} << 16;
    const std::uint64_t value_at = at + kNodeHead + key_bytes;
    if ((flags & kValueOnOverflowPages) == 0) {
      if (value_bytes > page_bytes_ - value_at) corrupt("a value runs past its page");
    } else {
      if (page_bytes_ - value_at < 8) corrupt("a value runs past its page");
      check_overflow(number_at<std::uint64_t>(page, value_at), value_bytes);
    }
    const auto* const begin = reinterpret_cast<const char*>(page.data()) + at + kNodeHead;
    std::string key(begin, key_bytes);
    if (key.empty() || (entries_ > 0 && key <= last_key_)) corrupt("its keys are out of order");
    last_key_ = std::move(key);
    ++entries_;
  }

  void check_overflow(std::uint64_t number, std::uint64_t bytes) {
    if (number < kMetaPages || number >= pages()) corrupt("a value lies outside the file");
    std::array<std::byte, kPageHead> header{};
    read_exactly(fd_.get(), number * page_bytes_, header, path_);
    const auto count = number_at<std::uint32_t>(header, 12);
    if (number_at<std::uint64_t>(header, 0) != number ||
        (number_at<std::uint16_t>(header, 10) & unsigned{kKindMask}) != kOverflowPage ||
        count > pages() - number || bytes + kPageHead > count * page_bytes_) {
      corrupt("a value lies outside its pages");
    }
  }

  const fs::path& path_;
  UniqueFd fd_;
  std::uint64_t file_bytes_;
  std::uint64_t page_bytes_ = 4096;
  std::uint64_t visited_ = 0, entries_ = 0;
  std::string last_key_;
};

}  // namespace

void check_pages(const fs::path& path) { PageCheck(path).run(); }

}  // namespace packhorse::lmdb
