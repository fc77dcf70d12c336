// Verification of features that only some datasets have: extra fields and frames.
#include <algorithm>

#include "base/file.h"
#include "dataset/shard_index.h"
#include "packhorse/verify/verify.h"
#include "support/made_dataset.h"
#include "support/support.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::flip_byte;
using test::MadeDataset;
using test::Row;
using test::TemporaryDirectory;

MadeDataset made(std::string format, int zstd_level) {
  MadeDataset dataset{
      .format = std::move(format), .zstd_level = zstd_level, .fields = {"json", "txt"}};
  for (int i = 0; i < 6; ++i) {
    const std::string text = "number " + std::to_string(1000 * i);
    Row row{key_of(static_cast<std::uint64_t>(i)), i % 2, "image " + text};
    row.fields = {"json " + text, "txt " + text};
    if (i % 3 == 1) row.fields[1] = "";
    if (i % 3 == 2) row.fields[1].reset();
    dataset.rows.push_back(std::move(row));
  }
  return dataset;
}

/// A dataset of six samples in two shards.
struct PackedFields {
  TemporaryDirectory directory;
  fs::path path = directory / "out";

  explicit PackedFields(const char* format, int zstd_level = 0) {
    made(format, zstd_level).write(path);
  }
  VerifyReport verify() const { return packhorse::verify(path, {VerifyLevel::kFull, 2}); }
  std::string data_file(int shard) const {
    return Manifest::load(path).shards[static_cast<std::size_t>(shard)].file;
  }
  ShardIndex index(int shard) const {
    return ShardIndex(path / ("shard-" + std::to_string(shard) + ".index"));
  }
};

constexpr std::pair<const char*, int> kKinds[] = {
    {"wds", 0}, {"wds", 3}, {"lmdb-members", 0}, {"hdf5", 0}};

/// Rewrites a shard's index after `change`, with all matching sums.
void forge_index(const PackedFields& packed, const auto& change) {
  const ShardIndex old = packed.index(0);
  ShardIndexWriter other(old.fields(), old.compressed());
  for (std::size_t row = 0; row < old.size(); ++row) {
    IndexEntry entry{old.range(row),
                     old.hash(row),
                     old.label(row),
                     old.image(row),
                     std::string(old.key(row)),
                     std::string(old.path(row))};
    for (std::size_t field = 0; field < old.fields().size(); ++field) {
      entry.fields.push_back(old.field_range(row, field));
      entry.field_hashes.push_back(old.field_hash(row, field));
    }
    if (old.compressed()) entry.frame = old.frame(row);
    change(row, entry);
    other.add(entry);
  }
  const std::string text = other.serialise(old.data_bytes());
  test::put(packed.path / "shard-0.index", text);
  test::edit_manifest(packed.path, [&](Manifest& manifest) {
    manifest.shards[0].index_bytes = text.size();
    manifest.shards[0].index_sha256 = sha256(as_bytes(text));
  });
}

}  // namespace

TEST_CASE("verify fields: a dataset as it was written is ok") {
  for (const auto& [format, level] : kKinds) {
    CAPTURE(format);
    const PackedFields packed(format, level);
    const VerifyReport report = packed.verify();
    CHECK(report.ok());
    CHECK(report.samples == 6);
    CHECK(report.bytes == fs::file_size(packed.path / packed.data_file(0)) +
                              fs::file_size(packed.path / packed.data_file(1)));
  }
}

TEST_CASE("verify fields: a damaged field is found with its sample, name and place") {
  for (const auto& [format, level] : kKinds) {
    if (level != 0) continue;
    CAPTURE(format);
    const PackedFields packed(format, level);
    const ByteRange range = packed.index(1).field_range(1, 0);
    for (const std::uint64_t offset : {range.offset, range.end() - 1}) {
      flip_byte(packed.path / packed.data_file(1), offset);
      const VerifyReport report = packed.verify();
      flip_byte(packed.path / packed.data_file(1), offset);
      REQUIRE(report.findings.size() == 1);
      const Finding& finding = report.findings[0];
      CHECK(finding.kind == FindingKind::kPayload);
      CHECK(finding.key == "000000005");
      CHECK(finding.sample == 5);
      CHECK(ByteRange{finding.offset, finding.length} == range);
      CHECK(finding.detail == "the bytes of the field 'json' are not the ones that were packed");
    }
  }
}

TEST_CASE("verify fields: a flipped byte anywhere in a compressed shard is found with its sample") {
  const PackedFields packed("wds", 3);
  const fs::path file = packed.path / packed.data_file(0);
  const ShardIndex index = packed.index(0);
  for (std::uint64_t at = 0; at < fs::file_size(file); at += 7) {
    flip_byte(file, at);
    const VerifyReport report = packed.verify();
    flip_byte(file, at);
    CAPTURE(at);
    REQUIRE(report.findings.size() == 1);
    const Finding& finding = report.findings[0];
    std::size_t row = 0;
    while (row < index.size() && at >= index.frame(row).stored.end()) ++row;
    if (row == index.size()) {
      CHECK(finding.kind == FindingKind::kHash);  // in the end of the archive
    } else if (finding.kind == FindingKind::kPayload) {
      CHECK(finding.key == index.key(row));
      CHECK(ByteRange{finding.offset, finding.length} == index.frame(row).stored);
    } else {
      CHECK(finding.kind == FindingKind::kHash);  // a bit that says nothing about the content
    }
  }
  CHECK(packed.verify().ok());
}

TEST_CASE("verify fields: a field the shard has otherwise than its index is found") {
  for (const auto& [format, level] : kKinds) {
    CAPTURE(format);
    const auto kind_with = [&, format = format, level = level](const auto& change) {
      const PackedFields packed(format, level);
      forge_index(packed, change);
      const VerifyReport report = packed.verify();
      REQUIRE(report.findings.size() == 1);
      CHECK(report.findings[0].key == "000000000");
      return report.findings[0].kind;
    };
    // The index lacks a field, or has it from another sample, including its hash.
    CHECK(kind_with([](std::size_t row, IndexEntry& entry) {
            if (row != 0) return;
            entry.fields[1] = kAbsent;
            entry.field_hashes[1] = 0;
          }) == FindingKind::kStructure);
    CHECK(kind_with([](std::size_t row, IndexEntry& entry) {
            if (row != 0) return;
            std::swap(entry.fields[0], entry.fields[1]);
            std::swap(entry.field_hashes[0], entry.field_hashes[1]);
          }) == FindingKind::kStructure);
    CHECK(kind_with([](std::size_t row, IndexEntry& entry) {
            if (row == 0) ++entry.field_hashes[0];
          }) == FindingKind::kPayload);
  }
}

TEST_CASE("verify fields: frames out of order are a finding, not a wrong read") {
  const PackedFields packed("wds", 3);
  Frame first;
  forge_index(packed, [&](std::size_t row, IndexEntry& entry) {
    if (row == 0) first = entry.frame;
    if (row == 1) entry.frame.stored = first.stored;
  });
  const VerifyReport report = packed.verify();
  REQUIRE_FALSE(report.ok());
  CHECK(report.findings[0].kind == FindingKind::kIndex);
}

TEST_CASE("verify fields: a manifest with other fields, or without compression, does not fit") {
  const PackedFields packed("wds", 3);
  const auto kind_with = [&](const auto& edit) {
    const Manifest before = Manifest::load(packed.path);
    test::edit_manifest(packed.path, edit);
    const VerifyReport report = packed.verify();
    test::put_manifest(packed.path, before);
    REQUIRE_FALSE(report.ok());
    return report.findings[0].kind;
  };
  CHECK(kind_with([](Manifest& m) { m.fields = {"json"}; }) == FindingKind::kIndex);
  CHECK(kind_with([](Manifest& m) { m.compress = ""; }) == FindingKind::kIndex);
  CHECK(packed.verify().ok());
}

}  // namespace packhorse
