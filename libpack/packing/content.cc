#include "packing/content.h"

#include <algorithm>
#include <unordered_map>

#include "base/parallel.h"
#include "base/xxh3.h"
#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "packhorse/base/resources.h"

namespace packhorse {

void Contents::add(const SplitListing& split, const std::function<bool(std::size_t)>& wanted) {
  const std::size_t n = split.entries.size();
  Split& added = splits_.emplace_back(Split{split, std::vector<bool>(n), std::vector<Hash>(n)});
  for (std::size_t i = 0; i < n; ++i) added.wanted[i] = wanted(i);
}

void Contents::hash_all(Which which) {
  std::unordered_map<std::uint64_t, std::size_t> of_size;
  const auto for_each_wanted = [&](const auto& visit) {
    for (std::size_t s = 0; s < splits_.size(); ++s) {
      for (std::size_t i = 0; i < splits_[s].wanted.size(); ++i) {
        if (splits_[s].wanted[i]) visit(s, i);
      }
    }
  };
  if (which == Which::kEqualSizes) {
    for_each_wanted(
        [&](std::size_t s, std::size_t i) { ++of_size[splits_[s].listing.entries.size_of(i)]; });
  }
  std::vector<ContentPlace> todo;
  for_each_wanted([&](std::size_t s, std::size_t i) {
    if (which == Which::kAll || of_size[splits_[s].listing.entries.size_of(i)] > 1)
      todo.push_back({s, i});
  });
  progress_.phase = "comparing contents";
  progress_.total_samples = todo.size();
  const int jobs = jobs_ > 0 ? jobs_ : available_cpus();
  run_batches(jobs, todo.size(), 64, [&](std::size_t begin, std::size_t end) {
    if (stop_.stop_requested()) throw Error(ErrorKind::kInterrupted, "stopped on request");
    for (std::size_t i = begin; i < end; ++i) hash_one(todo[i]);
  });
  progress_.phase = nullptr;
  progress_.total_samples = progress_.samples = progress_.bytes = 0;
}

namespace {

/// Whether what could not be read now can perhaps be read later: a network may be there again.
bool may_pass(const Error& error) {
  return error.kind() == ErrorKind::kIo && is_url(error.path().native());
}

}  // namespace

void Contents::hash_one(ContentPlace place) {
  Split& split = splits_[place.split];
  thread_local Input input;
  try {
    source_.read(split.listing, place.entry, input);
    const XXH128_hash_t hash = XXH3_128bits(input.bytes.data(), input.bytes.size());
    split.hashes[place.entry] = {hash.low64, hash.high64 | 1};  // {0, 0} marks "no hash"
    progress_.bytes += input.bytes.size();
  } catch (const Error& error) {
    if (may_pass(error)) throw;
  }  // it stays without a hash, as it cannot be read later either

  ++progress_.samples;
}

std::optional<std::uint64_t> Contents::hash(ContentPlace place) const {
  const Hash& hash = splits_[place.split].hashes[place.entry];
  if (hash == Hash{}) return std::nullopt;
  return hash[0];
}

bool Contents::same_bytes(ContentPlace a, ContentPlace b) const {
  Input first, second;
  try {
    source_.read(splits_[a.split].listing, a.entry, first);
    source_.read(splits_[b.split].listing, b.entry, second);
  } catch (const Error& error) {
    if (may_pass(error)) throw;
    return false;
  }
  return first.bytes == second.bytes;
}

std::vector<std::vector<ContentPlace>> Contents::identical() const {
  std::vector<std::pair<Hash, ContentPlace>> all;
  for (std::size_t s = 0; s < splits_.size(); ++s) {
    for (std::size_t i = 0; i < splits_[s].hashes.size(); ++i) {
      if (splits_[s].hashes[i] != Hash{}) all.push_back({splits_[s].hashes[i], {s, i}});
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::vector<ContentPlace>> groups;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    std::vector<ContentPlace> group = {all[begin].second};
    for (end = begin + 1; end < all.size() && all[end].first == all[begin].first; ++end) {
      if (same_bytes(group.front(), all[end].second)) group.push_back(all[end].second);
    }
    if (group.size() > 1) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace packhorse
