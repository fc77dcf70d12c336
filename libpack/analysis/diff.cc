#include "packhorse/analysis/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "packhorse/base/error.h"
#include "packhorse/base/hash.h"
#include "packhorse/base/json.h"
#include "packhorse/dataset/class_list.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/dataset/shard_index.h"
#include "packhorse/sources/source.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// A dataset without its shards.
class Side {
 public:
  explicit Side(const fs::path& path) {
    if (!is_packed_dataset(path))
      static_cast<void>(find_datasets(path));  // throws with the right advice
    const DatasetDirectory directory(path);
    manifest_ = Manifest::load(directory);
    classes_ = classes_of(directory, manifest_);
    for (const ShardRecord& record : manifest_.shards)
      indexes_.push_back(open_index(directory, record, manifest_));
  }

  struct Row {
    const ShardIndex& index;
    std::size_t shard, row;
  };
  Row row(std::size_t sample) const {
    const std::vector<ShardRecord>& shards = manifest_.shards;
    const auto after = std::upper_bound(
        shards.begin(), shards.end(), sample,
        [](std::size_t value, const ShardRecord& record) { return value < record.first_sample; });
    const auto shard = static_cast<std::size_t>(after - shards.begin()) - 1;
    return {indexes_[shard], shard, sample - shards[shard].first_sample};
  }
  const Manifest& manifest() const { return manifest_; }
  const std::vector<std::string>& classes() const { return classes_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(manifest_.samples); }

  std::string_view key(std::size_t sample) const {
    const Row at = row(sample);
    return at.index.key(at.row);
  }
  std::string_view path(std::size_t sample) const {
    const Row at = row(sample);
    return at.index.path(at.row);
  }
  std::pair<std::uint64_t, std::uint64_t> content(std::size_t sample) const {
    const Row at = row(sample);
    return {at.index.hash(at.row), at.index.range(at.row).length};
  }
  ImageInfo image(std::size_t sample) const {
    const Row at = row(sample);
    return at.index.image(at.row);
  }
  std::string_view class_name(std::size_t sample) const {
    const Row at = row(sample);
    const auto label = static_cast<std::size_t>(at.index.label(at.row));
    return label < classes_.size() ? classes_[label] : std::string_view();
  }

  SampleRef ref(std::size_t sample) const {
    const Row at = row(sample);
    return {sample,
            std::string(at.index.key(at.row)),
            std::string(at.index.path(at.row)),
            std::string(class_name(sample)),
            manifest_.shards[at.shard].file,
            at.row};
  }

 private:
  Manifest manifest_;
  std::vector<std::string> classes_;
  std::vector<ShardIndex> indexes_;
};

/// Maps each sample of A to its counterpart in B.
class Matching {
 public:
  Matching(const Side& a, const Side& b)
      : a_(a), b_(b), to_b_(a.size(), kNone), taken_(b.size(), false) {
    const auto has_path = [](const Side& side, std::uint32_t i) { return !side.path(i).empty(); };
    const auto any = [](const Side&, std::uint32_t) { return true; };
    const auto no_path = [](const Side& side, std::uint32_t i) { return side.path(i).empty(); };
    match([](const Side& side, std::uint32_t i) { return side.path(i); }, has_path);
    match([](const Side& side, std::uint32_t i) { return side.content(i); }, any);
    match([](const Side& side, std::uint32_t i) { return side.key(i); }, no_path);
  }

  std::uint32_t of(std::uint32_t a) const { return to_b_[a]; }
  bool taken(std::uint32_t b) const { return taken_[b]; }

 private:
  /// Pairs the samples left over on both sides that have the same `name`, in order.
  template <class Name, class Wanted>
  void match(const Name& name, const Wanted& wanted) {
    std::vector<std::uint32_t> left, right;
    for (std::uint32_t i = 0; i < a_.size(); ++i) {
      if (to_b_[i] == kNone && wanted(a_, i)) left.push_back(i);
    }
    for (std::uint32_t i = 0; i < b_.size(); ++i) {
      if (!taken_[i] && wanted(b_, i)) right.push_back(i);
    }
    const auto sort = [&](const Side& side, std::vector<std::uint32_t>& items) {
      std::stable_sort(items.begin(), items.end(), [&](std::uint32_t x, std::uint32_t y) {
        return name(side, x) < name(side, y);
      });
    };
    sort(a_, left);
    sort(b_, right);
    for (std::size_t l = 0, r = 0; l < left.size() && r < right.size();) {
      const auto of_a = name(a_, left[l]), of_b = name(b_, right[r]);
      if (of_a == of_b) {
        to_b_[left[l]] = right[r];
        taken_[right[r]] = true;
        ++l, ++r;
      } else {
        ++(of_a < of_b ? l : r);
      }
    }
  }

  const Side& a_;
  const Side& b_;
  std::vector<std::uint32_t> to_b_;
  std::vector<bool> taken_;
};

/// The fields a sample has, by name and content.
std::vector<std::tuple<std::string_view, std::uint64_t, std::uint64_t>> fields_of(const Side& side,
                                                                                  std::size_t i) {
  const Side::Row at = side.row(i);
  std::vector<std::tuple<std::string_view, std::uint64_t, std::uint64_t>> fields;
  for (std::size_t field = 0; field < at.index.fields().size(); ++field) {
    if (at.index.has_field(at.row, field)) {
      fields.emplace_back(at.index.fields()[field], at.index.field_hash(at.row, field),
                          at.index.field_range(at.row, field).length);
    }
  }
  return fields;
}

SampleChange compare(const Side& a, std::uint32_t i, const Side& b, std::uint32_t j) {
  SampleChange change;
  change.bytes = a.content(i) != b.content(j);
  change.fields = fields_of(a, i) != fields_of(b, j);
  change.described = a.image(i) != b.image(j);
  change.relabelled = a.class_name(i) != b.class_name(j);
  change.renamed = a.path(i) != b.path(j);
  change.rekeyed = a.key(i) != b.key(j);
  const Side::Row at = a.row(i), bt = b.row(j);
  change.moved = at.shard != bt.shard || at.row != bt.row;
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
Members members_of(const Side& side) {
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

std::vector<DatasetDiff::Setting> settings_of(const Side& a, const Side& b) {
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

DatasetDiff diff_datasets(const fs::path& a, const fs::path& b, std::optional<std::size_t> limit) {
  const Side left(a), right(b);
  DatasetDiff diff;
  diff.id_a = left.manifest().id();
  diff.id_b = right.manifest().id();
  if (left.manifest().samples >= kNone || right.manifest().samples >= kNone)
    throw Error(ErrorKind::kUnsupported,
                "datasets of more than 4 billion samples cannot be compared");
  diff.settings = settings_of(left, right);
  const Matching matching(left, right);
  const std::size_t most = limit.value_or(~std::size_t{0});
  std::vector<SampleChange> moves;
  for (std::uint32_t i = 0; i < left.size(); ++i) {
    const std::uint32_t j = matching.of(i);
    if (j == kNone) {
      ++diff.counts.only_a;
      if (diff.only_a.size() < most) diff.only_a.push_back(left.ref(i));
      continue;
    }
    SampleChange change = compare(left, i, right, j);
    count(diff.counts, change);
    if (!change.content() && !change.rekeyed && !change.moved) continue;
    std::vector<SampleChange>& list = change.content() ? diff.changes : moves;
    if (list.size() >= most) continue;
    change.a = left.ref(i);
    change.b = right.ref(j);
    list.push_back(std::move(change));
  }
  for (std::uint32_t j = 0; j < right.size(); ++j) {
    if (matching.taken(j)) continue;
    ++diff.counts.only_b;
    if (diff.only_b.size() < most) diff.only_b.push_back(right.ref(j));
  }
  const std::size_t room = std::min(moves.size(), most - std::min(most, diff.changes.size()));
  for (std::size_t i = 0; i < room; ++i) diff.changes.push_back(std::move(moves[i]));
  return diff;
}

}  // namespace packhorse
