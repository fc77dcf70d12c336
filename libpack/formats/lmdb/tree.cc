#include "formats/lmdb/tree.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace packhorse::lmdb {

namespace {

template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(value));
}

constexpr std::size_t even(std::size_t bytes) { return (bytes + 1) & ~std::size_t{1}; }

void put_page_head(std::byte* page, std::uint64_t number, std::uint16_t kind) {
  put(page, number);
  put<std::uint16_t>(page + 8, 0);
  put(page + 10, kind);
}

void put_bounds(std::byte* page, std::size_t lower, std::size_t upper) {
  put(page + 12, static_cast<std::uint16_t>(lower));
  put(page + 14, static_cast<std::uint16_t>(upper));
}

std::byte* put_text(std::byte* at, std::string_view text) {
  const Bytes bytes = as_bytes(text);
  return std::copy(bytes.begin(), bytes.end(), at);
}

constexpr std::array<std::byte, kPageBytes> kZeros{};

}  // namespace

Tree::Tree(Append append, Placed placed)
    : append_(std::move(append)), placed_(std::move(placed)), leaf_(kPageBytes) {}

void Tree::append(Bytes bytes) const {
  if (append_) append_(bytes);
}

void Tree::add(std::string_view key, std::uint64_t size, std::initializer_list<Bytes> pieces,
               std::uint64_t tag) {
  const bool inside = kNodeHead + key.size() + size <= kMaxNodeBytes;
  const std::size_t node_bytes =
      even(kNodeHead + key.size() + (inside ? size : sizeof(std::uint64_t)));
  if (upper_ - lower_ < node_bytes + sizeof(std::uint16_t)) end_leaf();
  const std::uint64_t page = inside ? 0 : add_overflow(size, pieces);
  if (lower_ == kPageHead) leaf_key_ = key;

  upper_ -= node_bytes;
  put(&leaf_[lower_], static_cast<std::uint16_t>(upper_));
  lower_ += sizeof(std::uint16_t);
  std::byte* node = &leaf_[upper_];
  put(node, static_cast<std::uint32_t>(size));
  put(node + 4, inside ? std::uint16_t{0} : kValueOnOverflowPages);
  put(node + 6, static_cast<std::uint16_t>(key.size()));
  std::byte* value = put_text(node + kNodeHead, key);
  if (inside) {
    for (const Bytes piece : pieces) value = std::copy(piece.begin(), piece.end(), value);
    if (tag != kNoTag) pending_.push_back({tag, upper_ + kNodeHead + key.size()});
  } else {
    put(value, page);
    if (tag != kNoTag && placed_) placed_(tag, page * kPageBytes + kPageHead);
  }
  ++entries_;
}

/// Returns the number of the first page.
std::uint64_t Tree::add_overflow(std::uint64_t size, std::initializer_list<Bytes> pieces) {
  const std::uint64_t page = next_page_;
  const std::uint64_t pages = (kPageHead - 1 + size) / kPageBytes + 1;
  next_page_ += pages;
  overflows_ += pages;
  std::array<std::byte, kPageHead> head;
  put_page_head(head.data(), page, kOverflowPage);
  put(head.data() + 12, static_cast<std::uint32_t>(pages));
  append(head);
  for (const Bytes piece : pieces) append(piece);
  append(Bytes(kZeros).first(pages * kPageBytes - kPageHead - size));
  return page;
}

void Tree::end_leaf() {
  const std::uint64_t page = next_page_++;
  ++leaves_;
  put_page_head(leaf_.data(), page, kLeafPage);
  put_bounds(leaf_.data(), lower_, upper_);
  append(leaf_);
  for (const Pending& value : pending_)
    if (placed_) placed_(value.tag, page * kPageBytes + value.offset);
  pending_.clear();
  std::ranges::fill(leaf_, std::byte{0});
  lower_ = kPageHead;
  upper_ = kPageBytes;
  add_child(0, {std::move(leaf_key_), page});
}

/// LMDB needs at least two children in every branch, so a full branch gives its last one to the
/// next.
void Tree::add_child(std::size_t level, Child child) {
  if (level == levels_.size()) levels_.emplace_back();
  const auto cost = [](const Level& to, const Child& one) {
    const std::size_t key = to.children.empty() ? 0 : one.key.size();
    return even(kNodeHead + key) + sizeof(std::uint16_t);
  };
  const auto push = [&](Child one) {
    Level& to = levels_[level];
    to.bytes += cost(to, one);
    to.children.push_back(std::move(one));
  };
  if (levels_[level].bytes + cost(levels_[level], child) > kPageBytes - kPageHead) {
    Child last = std::move(levels_[level].children.back());
    levels_[level].children.pop_back();
    end_branch(level);
    push(std::move(last));
  }
  push(std::move(child));
}

void Tree::end_branch(std::size_t level) {
  std::array<std::byte, kPageBytes> bytes{};
  std::size_t lower = kPageHead, upper = kPageBytes;
  Level& from = levels_[level];
  for (std::size_t i = 0; i < from.children.size(); ++i) {
    const Child& child = from.children[i];
    const std::string_view key = i == 0 ? std::string_view() : child.key;
    upper -= even(kNodeHead + key.size());
    put(bytes.data() + lower, static_cast<std::uint16_t>(upper));
    lower += sizeof(std::uint16_t);
    put(bytes.data() + upper,
        child.page);  // 48 bits of it: the key's size stands where the rest would
    put(bytes.data() + upper + 6, static_cast<std::uint16_t>(key.size()));
    put_text(bytes.data() + upper + kNodeHead, key);
  }
  const std::uint64_t page = next_page_++;
  ++branches_;
  put_page_head(bytes.data(), page, kBranchPage);
  put_bounds(bytes.data(), lower, upper);
  append(bytes);
  Child self{std::move(from.children.front().key), page};
  from = Level();
  add_child(level + 1, std::move(self));
}

std::string Tree::finish() {
  if (lower_ > kPageHead) end_leaf();
  if (levels_.empty()) return meta_pages(kNoPage, 0);
  std::size_t top = 0;
  for (; top + 1 < levels_.size() || levels_[top].children.size() > 1; ++top) end_branch(top);
  return meta_pages(levels_[top].children.front().page, top + 1);
}

std::string Tree::meta_pages(std::uint64_t root, std::size_t depth) const {
  std::string pages(kMetaPages * kPageBytes, '\0');
  for (std::uint64_t transaction = 0; transaction < kMetaPages; ++transaction) {
    auto* page = reinterpret_cast<std::byte*>(pages.data()) + transaction * kPageBytes;
    const bool counts = transaction == 1;  // the other is of the empty database it began as
    put_page_head(page, transaction, kMetaPage);
    put(page + kMetaMagic, kMagic);
    put(page + kMetaVersion, kDataVersion);
    put(page + kMetaMapSize, next_page_ * kPageBytes);
    put(page + kMetaFree + kDbPad, static_cast<std::uint32_t>(kPageBytes));
    put(page + kMetaFree + kDbFlags, kIntegerKeys);
    put(page + kMetaFree + kDbRoot, kNoPage);
    std::byte* main = page + kMetaMain;
    put(main + kDbRoot, counts ? root : kNoPage);
    put(page + kMetaLastPage, counts ? next_page_ - 1 : kMetaPages - 1);
    put(page + kMetaTransaction, transaction);
    if (!counts) continue;
    put(main + kDbDepth, static_cast<std::uint16_t>(depth));
    put(main + kDbBranchPages, branches_);
    put(main + kDbLeafPages, leaves_);
    put(main + kDbOverflowPages, overflows_);
    put(main + kDbEntries, entries_);
  }
  return pages;
}

}  // namespace packhorse::lmdb
