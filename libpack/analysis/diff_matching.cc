#include "analysis/diff_matching.h"

#include <tuple>

#include "base/xxh3.h"

namespace packhorse {

namespace {

constexpr const char* kHolds = "the samples that are compared";

/// Texts that share it by accident are compared, and found to be different, later.
std::pair<std::uint64_t, std::uint64_t> hash_of(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.low64, hash.high64};
}

}  // namespace

bool DiffMatching::Name::operator<(const Name& other) const {
  return std::tie(first, second, sample) < std::tie(other.first, other.second, other.sample);
}

DiffMatching::DiffMatching(const DiffSide& a, const DiffSide& b, std::uint64_t memory,
                           std::filesystem::path scratch)
    : a_(a),
      b_(b),
      memory_(memory / 3),  // two sides and the pairs
      scratch_(std::move(scratch)),
      in_a_(a.size()),
      in_b_(b.size()),
      pairs_(memory_, scratch_, kHolds) {
  match([](const DiffSide::Row& row) {
    return row.path().empty() ? std::nullopt : std::optional(hash_of(row.path()));
  });
  match([](const DiffSide::Row& row) { return std::optional(row.content()); });
  match([](const DiffSide::Row& row) {
    return row.path().empty() ? std::optional(hash_of(row.key())) : std::nullopt;
  });
}

ExternalSort<DiffMatching::Name> DiffMatching::names(const DiffSide& side,
                                                     const std::vector<bool>& paired,
                                                     NameOf name_of) const {
  ExternalSort<Name> names(memory_, scratch_, kHolds);
  side.for_each([&](std::uint64_t sample, const DiffSide::Row& row) {
    if (paired[sample]) return;
    if (const auto name = name_of(row)) names.add({name->first, name->second, sample});
  });
  return names;
}

void DiffMatching::match(NameOf name_of) {
  if (pairs_.size() == a_.size() || pairs_.size() == b_.size()) return;  // none is left over
  ExternalSort<Name> names_a = names(a_, in_a_, name_of), names_b = names(b_, in_b_, name_of);
  auto left = names_a.sorted(), right = names_b.sorted();
  const auto key = [](const Name& name) { return std::tie(name.first, name.second); };
  Name a{}, b{};
  bool more = left.next(a) && right.next(b);
  while (more) {
    if (key(a) < key(b)) {
      more = left.next(a);
    } else if (key(b) < key(a)) {
      more = right.next(b);
    } else {
      pairs_.add({a.sample, b.sample});
      in_a_[a.sample] = in_b_[b.sample] = true;
      more = left.next(a) && right.next(b);
    }
  }
}

}  // namespace packhorse
