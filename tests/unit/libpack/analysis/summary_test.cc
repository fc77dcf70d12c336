#include "packhorse/analysis/summary.h"

#include "support/made_dataset.h"
#include "support/support.h"

namespace packhorse {

namespace {

using test::MadeDataset;
using test::Row;
using test::TemporaryDirectory;

Row row(int number, std::int64_t label, ImageInfo image, std::size_t bytes) {
  return {key_of(static_cast<std::uint64_t>(number)), label, std::string(bytes, 'x'), image};
}

Summary summary_of(const MadeDataset& made) {
  const TemporaryDirectory directory;
  made.write(directory / "out");
  return summarise(PackedDataset(directory / "out"));
}

std::string_view shape_name(std::uint32_t width, std::uint32_t height) {
  static const Summary summary =
      summary_of({.rows = {row(0, 0, {ImageKind::kJpeg, 3, 8, 1, 1, 1}, 1)}});
  return summary.shapes[shape_of(width, height)].name;
}

}  // namespace

TEST_CASE("summary: counts kinds, channels, sizes and classes over all shards") {
  MadeDataset made;
  made.classes = {"a", "b", "c"};
  for (int i = 0; i < 9; ++i)
    made.rows.push_back(row(i, i == 4 ? 2 : 0, {ImageKind::kJpeg, 3, 8, 1, 40, 30}, 100));
  made.rows.push_back(row(9, 0, {ImageKind::kPng, 1, 8, 1, 7, 9}, 5));
  const Summary summary = summary_of(made);
  CHECK(summary.kinds == std::map<std::string, std::uint64_t>{{"jpeg", 9}, {"png", 1}});
  CHECK(summary.components == std::map<int, std::uint64_t>{{1, 1}, {3, 9}});
  CHECK(summary.short_side.least() == 7);
  CHECK(summary.short_side.median() == 30);
  CHECK(summary.bytes.least() == 5);
  CHECK(summary.bytes.most() == 100);
  CHECK(!summary.one_size());
  CHECK(summary.turned == 0);
  CHECK(summary.classes.largest == 0);
  CHECK(summary.classes.smallest == 2);
  CHECK(summary.classes.empty == 1);
  CHECK(summary.classes.ratio() == 9);
}

TEST_CASE("summary: sizes are those of upright images") {
  const Summary summary = summary_of({.rows = {row(0, 0, {ImageKind::kJpeg, 3, 8, 6, 40, 20}, 9)}});
  CHECK(summary.turned == 1);
  CHECK(summary.width.median() == 20);
  CHECK(summary.height.median() == 40);
  CHECK(summary.shapes[shape_of(20, 40)].count == 1);
}

TEST_CASE("summary: samples with a field are counted") {
  const std::string with_fields = [] {
    for (const Format* format : all_formats())
      if (format->carries_fields) return std::string(format->name);
    return std::string();
  }();
  MadeDataset made{.format = with_fields, .fields = {"json", "txt"}};
  for (int i = 0; i < 6; ++i) {
    made.rows.push_back(row(i, 0, {ImageKind::kJpeg, 3, 8, 1, 4, 4}, 9));
    made.rows.back().fields = {"1", std::nullopt};
    if (i == 5) made.rows.back().fields[1] = "text";
  }
  CHECK(summary_of(made).field_samples == std::vector<std::uint64_t>{6, 1});
}

TEST_CASE("summary: shapes are the nearest of the customary ones") {
  CHECK(shape_name(32, 32) == "1:1");
  CHECK(shape_name(500, 480) == "1:1");
  CHECK(shape_name(500, 375) == "4:3");
  CHECK(shape_name(375, 500) == "3:4");
  CHECK(shape_name(1920, 1080) == "16:9");
  CHECK(shape_name(1, 4000000000) == "1:3 or taller");
  CHECK(shape_name(4000000000, 1) == "3:1 or wider");
}

TEST_CASE("summary: recorded options are those of pack") {
  Manifest manifest;
  manifest.format = "f";
  manifest.image = "resize";
  manifest.image_settings = "short_side=256 chroma=420";
  manifest.compress = "zstd:3";
  manifest.shard_bytes = 256u << 20;
  manifest.seed = 7;
  using Options = std::vector<std::pair<std::string, std::string>>;
  CHECK(recorded_options(manifest) == Options{{"format", "f"},
                                              {"image", "resize"},
                                              {"short_side", "256"},
                                              {"chroma", "420"},
                                              {"compress", "zstd:3"},
                                              {"shard_bytes", "256MiB"},
                                              {"seed", "7"}});
  manifest = {};
  manifest.format = "f";
  manifest.image = "original";
  manifest.shuffle = false;
  manifest.shard_samples = 30;
  CHECK(recorded_options(manifest) ==
        Options{
            {"format", "f"}, {"image", "original"}, {"shard_samples", "30"}, {"shuffle", "false"}});
}

}  // namespace packhorse
