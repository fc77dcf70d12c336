#include "packing/content.h"

#include <algorithm>
#include <array>

#include "base/file.h"
#include "base/parallel.h"
#include "base/resources.h"
#include "base/stop.h"
#include "base/xxh3.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kBatch = 64;

/// Entries of a split, held in memory: what cannot be read of a list in a file is no fault of an
/// input.
SplitListing part_of(const SplitListing& split, std::size_t begin, std::size_t end) {
  SplitListing part;
  part.split = split.split;
  part.origin = split.origin;
  for (std::size_t i = begin; i < end; ++i) part.entries.add_from(split.entries, i);
  return part;
}

/// Whether what could not be read now can perhaps be read later: a network may be there again.
bool may_pass(const Error& error) {
  return error.kind() == ErrorKind::kIo && is_url(error.path().native());
}

}  // namespace

Contents::Contents(const Source& source, int jobs, Use use, const EntryMemory* memory,
                   Progress& progress)
    : source_(source),
      jobs_(jobs > 0 ? jobs : available_cpus()),
      use_(use),
      memory_(memory != nullptr ? memory->bytes() / 8 : ~std::uint64_t{0}),
      scratch_(memory != nullptr ? memory->scratch() : std::filesystem::path()),
      progress_(progress),
      by_place_(sort<ByPlace>()),
      by_hash_(sort<ByHash>()) {}

void Contents::add(const SplitListing& split, const std::function<bool(std::size_t)>& wanted) {
  const std::size_t n = split.entries.size();
  Split& added = splits_.emplace_back(Split{split, std::vector<bool>(n)});
  for (std::size_t i = 0; i < n; ++i) added.wanted[i] = wanted(i);
}

/// Wants no longer what has a size of its own.
void Contents::want_equal_sizes() {
  ExternalSort<Size> sizes = sort<Size>();
  for (std::size_t s = 0; s < splits_.size(); ++s) {
    const Split& split = splits_[s];
    for (std::size_t i = 0; i < split.wanted.size(); ++i)
      if (split.wanted[i]) sizes.add({split.listing.entries.size_of(i), {s, i}});
  }
  auto sorted = sizes.sorted();
  Size now{}, after{};
  bool equals_before = false, more = sorted.next(now);
  while (more) {
    more = sorted.next(after);
    const bool equals_after = more && after.bytes == now.bytes;
    if (!equals_before && !equals_after) splits_[now.place.split].wanted[now.place.entry] = false;
    equals_before = equals_after;
    now = after;
  }
}

void Contents::hash_all() {
  if (!use_.each) want_equal_sizes();
  std::uint64_t todo = 0;
  for (const Split& split : splits_)
    todo += static_cast<std::uint64_t>(std::ranges::count(split.wanted, true));
  progress_.phase = "comparing contents";
  progress_.total_samples = todo;
  for (std::size_t s = 0; s < splits_.size(); ++s) {
    run_batches(jobs_, splits_[s].wanted.size(), kBatch,
                [&](std::size_t begin, std::size_t end) { hash_batch(s, begin, end); });
  }
  progress_.phase = nullptr;
  progress_.total_samples = progress_.samples = progress_.bytes = 0;
}

void Contents::hash_batch(std::size_t split, std::size_t begin, std::size_t end) {
  thread_local Input input;
  const SplitListing part = part_of(splits_[split].listing, begin, end);
  std::array<ByHash, kBatch> found{};
  std::size_t count = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (!splits_[split].wanted[i]) continue;
    try {
      source_.read(part, i - begin, input);
      const XXH128_hash_t hash = XXH3_128bits(input.bytes.data(), input.bytes.size());
      found.at(count++) = {hash.low64, hash.high64, {split, i}};
      progress_.bytes += input.bytes.size();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      if (may_pass(error)) throw;
    }  // it stays without a hash, as it cannot be read later either
    ++progress_.samples;
  }
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < count; ++i) {
    if (use_.each) by_place_.add({found.at(i).place, found.at(i).low});
    if (use_.identical) by_hash_.add(found.at(i));
  }
}

void Contents::for_each(const std::function<void(ContentPlace, std::uint64_t)>& visit) {
  ByPlace one{};
  for (auto sorted = by_place_.sorted(); sorted.next(one);) visit(one.place, one.hash);
}

bool Contents::same_bytes(ContentPlace a, ContentPlace b) const {
  Input first, second;
  const SplitListing of_a = part_of(splits_[a.split].listing, a.entry, a.entry + 1);
  const SplitListing of_b = part_of(splits_[b.split].listing, b.entry, b.entry + 1);
  try {
    source_.read(of_a, 0, first);
    source_.read(of_b, 0, second);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    if (may_pass(error)) throw;
    return false;
  }
  return first.bytes == second.bytes;
}

std::vector<std::vector<ContentPlace>> Contents::identical() {
  std::vector<std::vector<ContentPlace>> groups;
  std::vector<ContentPlace> group;
  const auto close = [&] {
    if (group.size() > 1) groups.push_back(group);
    group.clear();
  };
  ByHash first{}, one{};
  for (auto sorted = by_hash_.sorted(); sorted.next(one);) {
    if (group.empty() || one.low != first.low || one.high != first.high) {
      close();
      first = one;
      group.push_back(one.place);
    } else if (same_bytes(first.place, one.place)) {
      group.push_back(one.place);
    }
  }
  close();
  return groups;
}

}  // namespace packhorse
