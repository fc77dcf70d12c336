#include "packhorse/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "packhorse/error.h"
#include "packhorse/hash.h"
#include "packhorse/manifest.h"
#include "packhorse/packed_dataset.h"
#include "packhorse/shard_index.h"
#include "packhorse/source.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

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

/// Which sample of B each sample of A is.
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
  /// Pairs what is left of both sides by what `name` says of it, first with first.
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
  change.relabelled = a.class_name(i) != b.class_name(j);
  change.renamed = a.path(i) != b.path(j);
  change.rekeyed = a.key(i) != b.key(j);
  const Side::Row at = a.row(i), bt = b.row(j);
  change.moved = at.shard != bt.shard || at.row != bt.row;
  return change;
}

std::vector<DatasetDiff::Setting> settings_of(const Side& a, const Side& b) {
  std::vector<DatasetDiff::Setting> settings;
  const auto add = [&](const char* name, const auto& of) {
    std::string left = of(a), right = of(b);
    if (left != right) settings.push_back({name, std::move(left), std::move(right)});
  };
  const auto add_member = [&](const char* name, auto member) {
    add(name, [&](const Side& side) { return fmt::format("{}", side.manifest().*member); });
  };
  add_member("format", &Manifest::format);
  add_member("format_version", &Manifest::format_version);
  add_member("image", &Manifest::image);
  add_member("image_settings", &Manifest::image_settings);
  add_member("compress", &Manifest::compress);
  add("fields",
      [](const Side& s) { return fmt::format("{}", fmt::join(s.manifest().fields, ",")); });
  add_member("split", &Manifest::split);
  add_member("shuffle", &Manifest::shuffle);
  add_member("seed", &Manifest::seed);
  add_member("shard_bytes", &Manifest::shard_bytes);
  add_member("shard_samples", &Manifest::shard_samples);
  add_member("samples", &Manifest::samples);
  add("shards", [](const Side& s) { return std::to_string(s.manifest().shards.size()); });
  add("classes", [](const Side& s) { return std::to_string(s.classes().size()); });
  add("class_list", [](const Side& s) {
    return sha256(as_bytes(fmt::format("{}", fmt::join(s.classes(), "\n")))).substr(0, 12);
  });
  add("rejected", [](const Side& s) { return std::to_string(s.manifest().accounting.rejected); });
  add("skipped", [](const Side& s) { return std::to_string(s.manifest().accounting.skipped); });
  add("files", [](const Side& s) {
    Sha256 hash;
    for (const FileRecord& file : s.manifest().files)
      hash.update(as_bytes(file.file + file.sha256));
    return fmt::format("{} ({})", s.manifest().files.size(), hash.finish().substr(0, 12));
  });
  add("shards_sha256", [](const Side& s) {
    Sha256 hash;
    for (const ShardRecord& shard : s.manifest().shards) hash.update(as_bytes(shard.sha256));
    return hash.finish().substr(0, 12);
  });
  return settings;
}

void count(DatasetDiff::Counts& counts, const SampleChange& change) {
  ++counts.same;
  counts.bytes += change.bytes ? 1 : 0;
  counts.fields += change.fields ? 1 : 0;
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
