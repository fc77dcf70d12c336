#include "packhorse/analysis/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "analysis/diff_matching.h"
#include "analysis/diff_side.h"
#include "base/hash.h"
#include "base/json.h"
#include "dataset/class_list.h"
#include "packhorse/dataset/manifest.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

SampleChange compare(const DiffSide::Row& a, const DiffSide::Row& b) {
  SampleChange change;
  change.bytes = a.content() != b.content();
  change.fields = a.fields() != b.fields();
  change.described = a.image() != b.image();
  change.relabelled = a.class_name() != b.class_name();
  change.renamed = a.path() != b.path();
  change.rekeyed = a.key() != b.key();
  change.moved = a.shard() != b.shard() || a.row() != b.row();
  return change;
}

/// The number of items, and the start of a hash of them.
std::string digest_of(const Json& array) {
  return fmt::format("{} ({})", array.size(), sha256(as_bytes(array.dump())).substr(0, 12));
}

/// Each member of a manifest with its text, except shards and files. Options and accounting have
/// names of their own.
using Members = std::map<std::string, std::string>;

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::vector<std::string> items;
  for (const Json& item : value) items.push_back(text_of(item));
  constexpr std::size_t kLine = 60;
  std::string text = fmt::format("{}", fmt::join(items, ","));
  return text.size() <= kLine ? text : digest_of(value);
}

void add_members(Members& members, const std::string& prefix, const Json& object) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) {
      const bool plain = prefix.empty() && (name == "options" || name == "accounting");
      add_members(members, plain ? "" : prefix + name + ".", value);
    } else if (name != "shards" && name != "files") {
      members[prefix + name] = text_of(value);
    }
  }
}

/// Everything the id is made from, and the class list: where ids differ, a setting here differs.
Members members_of(const DiffSide& side) {
  const Manifest& manifest = side.manifest();
  constexpr JsonLimits kAny{.bytes = ~std::size_t{0}};  // it is our own text
  const Json json = parse_json<Json>(manifest.serialise(), kAny);
  Members members;
  add_members(members, "", json);
  members.erase("packhorse");  // the id does not cover it
  members.erase("id");
  members["shards"] = std::to_string(manifest.shards.size());
  Json list = json.at("shards"), sums = Json::array(), index_sums = Json::array();
  for (Json& shard : list) {
    sums.push_back(shard.at("sha256"));
    index_sums.push_back(shard.at("index_sha256"));
    shard.erase("sha256");
    shard.erase("index_sha256");
  }
  members["shard_list"] = digest_of(list);
  members["shards_sha256"] = digest_of(sums);
  members["indexes_sha256"] = digest_of(index_sums);
  members["files"] = digest_of(json.at("files"));
  members["classes"] = std::to_string(side.classes().size());
  members["class_list"] = sha256(as_bytes(class_list_text(side.classes()))).substr(0, 12);
  return members;
}

std::vector<DatasetDiff::Setting> settings_of(const DiffSide& a, const DiffSide& b) {
  const Members left = members_of(a), right = members_of(b);
  const auto text_in = [](const Members& members, const std::string& name) {
    const auto found = members.find(name);
    return found == members.end() ? std::string() : found->second;
  };
  Members all = left;
  all.insert(right.begin(), right.end());
  std::vector<DatasetDiff::Setting> settings;
  for (const auto& [name, text] : all) {
    std::string of_a = text_in(left, name), of_b = text_in(right, name);
    if (of_a != of_b) settings.push_back({name, std::move(of_a), std::move(of_b)});
  }
  return settings;
}

void count(DatasetDiff::Counts& counts, const SampleChange& change) {
  ++counts.same;
  counts.bytes += change.bytes ? 1 : 0;
  counts.fields += change.fields ? 1 : 0;
  counts.described += change.described ? 1 : 0;
  counts.relabelled += change.relabelled ? 1 : 0;
  counts.renamed += change.renamed ? 1 : 0;
  counts.rekeyed += change.rekeyed ? 1 : 0;
  counts.moved += change.moved ? 1 : 0;
}

}  // namespace

DatasetDiff diff_datasets(const fs::path& a, const fs::path& b, std::optional<std::size_t> limit,
                          std::uint64_t memory) {
  const DiffSide left(a), right(b);
  DatasetDiff diff;
  diff.id_a = left.manifest().id();
  diff.id_b = right.manifest().id();
  diff.settings = settings_of(left, right);
  DiffMatching matching(left, right, memory, {});
  auto pairs = matching.pairs();
  DiffMatching::Pair pair{};
  bool more = pairs.next(pair);
  const std::size_t most = limit.value_or(~std::size_t{0});
  std::vector<SampleChange> moves;
  left.for_each([&](std::uint64_t i, const DiffSide::Row& row) {
    if (!more || pair.a != i) {
      ++diff.counts.only_a;
      if (diff.only_a.size() < most) diff.only_a.push_back(row.ref());
      return;
    }
    const DiffSide::Row other = right.row(pair.b);
    more = pairs.next(pair);
    SampleChange change = compare(row, other);
    count(diff.counts, change);
    if (!change.content() && !change.rekeyed && !change.moved) return;
    std::vector<SampleChange>& list = change.content() ? diff.changes : moves;
    if (list.size() >= most) return;
    change.a = row.ref();
    change.b = other.ref();
    list.push_back(std::move(change));
  });
  right.for_each([&](std::uint64_t j, const DiffSide::Row& row) {
    if (matching.is_paired_in_b(j)) return;
    ++diff.counts.only_b;
    if (diff.only_b.size() < most) diff.only_b.push_back(row.ref());
  });
  const std::size_t room = std::min(moves.size(), most - std::min(most, diff.changes.size()));
  for (std::size_t i = 0; i < room; ++i) diff.changes.push_back(std::move(moves[i]));
  return diff;
}

}  // namespace packhorse
