#include "packhorse/analysis/diff.h"

#include <algorithm>
#include <functional>

#include "base/file.h"
#include "support/made_dataset.h"
#include "support/support.h"

namespace packhorse {

namespace {

using test::MadeDataset;
using test::TemporaryDirectory;

MadeDataset six_samples() {
  MadeDataset dataset;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const std::string number = std::to_string(i);
    dataset.rows.push_back({key_of(i), 0, "image " + number, {ImageKind::kJpeg, 3, 8, 1, 10, 10}});
    dataset.rows.back().path = number + ".jpg";
  }
  return dataset;
}

/// The difference when only the second dataset's manifest is changed.
DatasetDiff after(const std::function<void(Manifest&)>& edit) {
  const TemporaryDirectory directory;
  six_samples().write(directory / "a");
  six_samples().write(directory / "b");
  test::edit_manifest(directory / "b", edit);
  return diff_datasets(directory / "a", directory / "b");
}

}  // namespace

TEST_CASE("diff: whatever makes ids differ is a setting") {
  const std::pair<std::string, std::function<void(Manifest&)>> edits[] = {
      {"format_version", [](Manifest& m) { ++m.format_version; }},
      {"image_settings", [](Manifest& m) { m.image_settings = "size=8"; }},
      {"split", [](Manifest& m) { m.split = "val"; }},
      {"adopted.labels",
       [](Manifest& m) {
         m.adopted = {"webdataset", "none", false, {}};
       }},
      {"adopted.arrays.images",
       [](Manifest& m) {
         m.adopted = {"arrays", "none", false, {{"images", "x"}}};
       }},
      {"seed", [](Manifest& m) { ++m.seed; }},
      {"shard_bytes", [](Manifest& m) { ++m.shard_bytes; }},
      {"payload_bytes", [](Manifest& m) { ++m.payload_bytes; }},
      {"class_samples",
       [](Manifest& m) {
         m.class_samples = {5, 1};
       }},
      {"seen", [](Manifest& m) { ++m.accounting.seen; }},
      {"packed", [](Manifest& m) { ++m.accounting.packed; }},
      {"rejected", [](Manifest& m) { ++m.accounting.rejected; }},
      {"skipped", [](Manifest& m) { ++m.accounting.skipped; }},
      {"skipped_by_rule.hidden", [](Manifest& m) { m.skipped_by_rule["hidden"] = 1; }},
      {"shard_list", [](Manifest& m) { m.shards[1].file = "other.tar"; }},
      {"shards_sha256", [](Manifest& m) { m.shards[1].sha256[0] ^= 1; }},
      {"indexes_sha256", [](Manifest& m) { m.shards[1].index_sha256[0] ^= 1; }},
      {"files", [](Manifest& m) { m.files[0].file = "other.txt"; }},
  };
  for (const auto& [name, edit] : edits) {
    CAPTURE(name);
    const DatasetDiff diff = after(edit);
    CHECK_FALSE(diff.equal());
    const auto is_named = [&](const DatasetDiff::Setting& one) { return one.name == name; };
    CHECK(std::any_of(diff.settings.begin(), diff.settings.end(), is_named));
  }
}

TEST_CASE("diff: a class whose name is any bytes is compared by them") {
  const TemporaryDirectory directory;
  MadeDataset dataset = six_samples();
  dataset.classes = {"\xff", "dogs"};
  dataset.write(directory / "a");
  dataset.classes = {"\xfe", "dogs"};
  dataset.write(directory / "b");
  const DatasetDiff diff = diff_datasets(directory / "a", directory / "b");
  CHECK(diff.counts.relabelled == 6);
  CHECK(diff.settings.front().name == "class_list");
}

TEST_CASE("diff: the version that wrote a dataset is no part of what is compared") {
  const DatasetDiff diff = after([](Manifest& m) { m.version = "another"; });
  CHECK(diff.equal());
  CHECK(diff.settings.empty());
}

TEST_CASE("diff: an index that describes an image otherwise is a change of that sample") {
  const ImageInfo described[] = {
      {ImageKind::kPng, 3, 8, 1, 10, 10},   {ImageKind::kJpeg, 1, 8, 1, 10, 10},
      {ImageKind::kJpeg, 3, 16, 1, 10, 10}, {ImageKind::kJpeg, 3, 8, 6, 10, 10},
      {ImageKind::kJpeg, 3, 8, 1, 11, 10},  {ImageKind::kJpeg, 3, 8, 1, 10, 11},
  };
  for (const ImageInfo& image : described) {
    const TemporaryDirectory directory;
    MadeDataset dataset = six_samples();
    dataset.write(directory / "a");
    dataset.rows[4].image = image;
    dataset.write(directory / "b");
    const DatasetDiff diff = diff_datasets(directory / "a", directory / "b");
    CHECK_FALSE(diff.equal());
    CHECK(diff.counts.described == 1);
    REQUIRE(diff.changes.size() == 1);
    CHECK(diff.changes[0].described);
    CHECK(diff.changes[0].content());
    CHECK(diff.changes[0].a.path == "4.jpg");
  }
}

}  // namespace packhorse
