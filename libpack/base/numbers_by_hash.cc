#include "base/numbers_by_hash.h"

#include <algorithm>

namespace packhorse {

namespace {

constexpr const char* kAdvice = "give more `memory=`";

}  // namespace

NumbersByHash::NumbersByHash(std::uint64_t memory, std::filesystem::path scratch,
                             const std::string& holds)
    : sort_(std::make_unique<ExternalSort<Item>>(memory, scratch, holds)),
      file_(std::move(scratch), holds, kAdvice) {}

void NumbersByHash::close() {
  size_ = sort_->size();
  if (!sort_->in_file()) {
    items_ = sort_->in_memory();
    sort_.reset();
    return;
  }
  auto sorted = sort_->sorted();
  sort_.reset();
  std::vector<Item> page;
  Item item{};
  while (sorted.next(item)) {
    if (page.size() == kPage) {
      file_.append(std::as_bytes(std::span(page)));
      page.clear();
    }
    if (page.empty()) firsts_.push_back(item.hash);
    page.push_back(item);
  }
  file_.append(std::as_bytes(std::span(page)));
}

std::span<const NumbersByHash::Item> NumbersByHash::page(std::uint64_t number,
                                                         std::vector<Item>& buffer) const {
  buffer.resize(std::min<std::uint64_t>(kPage, size_ - number * kPage));
  file_.read(number * kPage * sizeof(Item), std::as_writable_bytes(std::span(buffer)));
  return buffer;
}

bool NumbersByHash::find(std::uint64_t hash,
                         const std::function<bool(std::uint64_t)>& visit) const {
  const auto less = [](const Item& item, std::uint64_t value) { return item.hash < value; };
  const auto visit_from = [&](std::span<const Item> items, bool& found) {
    auto at = std::lower_bound(items.begin(), items.end(), hash, less);
    for (; at != items.end() && at->hash == hash && !found; ++at) found = visit(at->number);
    return at == items.end() && !found;  // whether there may be more behind them
  };
  bool found = false;
  if (firsts_.empty()) {
    visit_from(items_, found);
    return found;
  }
  // The page before the first that begins with it may end with it.
  auto first = std::lower_bound(firsts_.begin(), firsts_.end(), hash);
  if (first != firsts_.begin()) --first;
  std::vector<Item> buffer;
  for (auto number = static_cast<std::uint64_t>(first - firsts_.begin()); number < firsts_.size();
       ++number) {
    if (firsts_[number] > hash || !visit_from(page(number, buffer), found)) break;
  }
  return found;
}

}  // namespace packhorse
