#include "packhorse/packing/pack.h"

#include <unistd.h>

#include "dataset/shard_index.h"
#include "formats/format.h"
#include "pack_place.h"
#include "packhorse/verify/verify.h"
#include "packing/pack_shard.h"

namespace packhorse {

TEST_CASE("pack: what is packed is read back, with its label and path") {
  for (const Format* format : all_formats()) {
    CAPTURE(format->name);
    PackPlace place;
    place.options.format = format->name;
    CHECK(place.pack().published);
    const PackedDataset dataset(place.out);
    REQUIRE(dataset.size() == 30);
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < dataset.size(); ++i) {
      const PackedDataset::Place at = dataset.place(i);
      const std::string path(dataset.index(at.shard)->path(at.row));
      dataset.read(i, bytes);
      CHECK(as_text(bytes) == read_text(place.source / path));
      CHECK("c" + std::to_string(dataset.index(at.shard)->label(at.row)) == path.substr(0, 2));
      CHECK(dataset.index(at.shard)->key(at.row) == key_of(i));
    }
  }
}

TEST_CASE("pack: seen is packed + rejected + skipped, in the report and in the manifest") {
  PackPlace place;
  place.put_broken();
  put(place.source / "stray.jpg", tiny_image(1));
  put(place.source / "c0" / "notes.txt", "x");
  put(place.source / "c0" / ".hidden", "x");
  place.allow(2);
  const PackReport report = place.pack();
  CHECK(report.published);
  CHECK(report.accounting.balanced());
  CHECK(report.accounting.seen == 34);
  CHECK(report.accounting.packed == 30);
  CHECK(report.accounting.rejected == 2);
  CHECK(report.accounting.skipped == 2);
  const Accounting written = Manifest::load(place.out).accounting;
  CHECK(written.balanced());
  CHECK(written.seen == 34);
  CHECK(written.packed == 30);
}

TEST_CASE("pack: every format is whole when less comes than was expected") {
  for (const Format* format : all_formats()) {
    CAPTURE(format->name);
    PackPlace place;
    place.put_broken();
    place.allow(1);
    place.options.format = format->name;
    REQUIRE(place.pack().published);
    const VerifyReport report = verify(place.out, {VerifyLevel::kFull, 2});
    CHECK(report.ok());
    CHECK(report.samples == 30);
  }
}

TEST_CASE("pack: the report's bytes are the files' bytes") {
  const PackPlace place;
  const PackReport report = place.pack();
  std::uint64_t in = 0, out = 0;
  for (const auto& entry : fs::recursive_directory_iterator(place.source))
    in += entry.is_regular_file() ? entry.file_size() : 0;
  for (const auto& entry : fs::recursive_directory_iterator(place.out))
    out += entry.is_regular_file() ? entry.file_size() : 0;
  CHECK(report.bytes_in == in);
  CHECK(report.bytes_out == out);
  CHECK(report.shards == 8);
  CHECK(report.shards_kept == 0);
  CHECK(report.id == Manifest::load(place.out).id());
}

TEST_CASE("pack: any number of threads writes the same bytes") {
  for (const Format* format : all_formats()) {
    CAPTURE(format->name);
    PackPlace place;
    place.put_broken();
    place.allow(1);
    place.options.format = format->name;
    std::vector<std::string> trees;
    for (const int jobs : {1, 2, 7}) {
      place.options.jobs = jobs;
      place.out = place.directory / ("out" + std::to_string(jobs));
      place.pack();
      trees.push_back(tree(place.out));
    }
    CHECK(trees[0] == trees[1]);
    CHECK(trees[0] == trees[2]);
  }
}

TEST_CASE("pack: one large shard is the same for any number of threads") {
  PackPlace place;
  place.options.plan.shard_samples = 0;
  place.options.jobs = 7;
  CHECK(place.pack().shards == 1);
  const std::string many = tree(place.out);
  place.options.jobs = 1;
  CHECK(fresh_tree(place) == many);
}

TEST_CASE("pack: nothing is left beside the dataset") {
  const PackPlace place;
  place.pack();
  CHECK(fs::exists(place.out / "dataset.json"));
  CHECK_FALSE(fs::exists(place.partial));
  CHECK(std::distance(fs::directory_iterator(place.directory.path()), {}) == 2);
}

TEST_CASE("pack: an overall limit of rejects by count is exact") {
  PackPlace place;
  place.put_broken("c0/x.jpg");
  place.put_broken("c1/x.jpg");
  place.allow(1);
  CHECK_FALSE(place.pack().published);
  place.allow(2);
  CHECK(place.pack().published);
}

TEST_CASE("pack: a limit in percent is of the inputs seen, and takes the place of the count") {
  PackPlace place;
  for (int i = 0; i < 2; ++i)
    place.put_broken("c0/x" + std::to_string(i) + ".jpg");  // 2 of 32: 6.25%
  place.allow(1000);
  place.options.max_rejects.percent = 6.2;
  CHECK_FALSE(place.pack().published);
  place.options.max_rejects.percent = 6.25;
  CHECK(place.pack().published);
}

TEST_CASE("reject limit: reads counts and percentages, and nothing else") {
  CHECK(RejectLimit::parse("0").allowed(1000) == 0);
  CHECK(RejectLimit::parse("12").allowed(5) == 12);
  CHECK(RejectLimit::parse("0.5%").allowed(1000) == 5);
  CHECK(RejectLimit::parse("0.5%").allowed(199) == 0);
  CHECK(RejectLimit::parse("100%").allowed(7) == 7);
  for (const char* text : {"", "-1", "1.5", "x", "5x", "101%", "-1%", "%", "nan%", "1%%",
                           "99999999999999999999999", " -1"}) {
    CAPTURE(text);
    CHECK(kind_of_error([&] { RejectLimit::parse(text); }) == ErrorKind::kUsage);
  }
}

TEST_CASE("pack: an empty source is kNotFound and leaves nothing") {
  const TemporaryDirectory directory;
  fs::create_directories(directory / "source/c");
  CHECK(kind_of_error([&] { pack(directory / "source", directory / "out", {.format = "wds"}); }) ==
        ErrorKind::kNotFound);
  CHECK_FALSE(fs::exists(directory / "out.partial"));
}

TEST_CASE("pack: a source of nothing but rejects is not published, whatever the limit") {
  const TemporaryDirectory directory;
  put(directory / "source/c/x.jpg", "not an image");
  PackOptions options{.format = "wds"};
  options.list.allow_odd_classes = true;
  options.max_rejects.count = 10;
  const PackReport report = pack(directory / "source", directory / "out", options);
  CHECK_FALSE(report.published);
  CHECK(report.accounting.balanced());
  CHECK_FALSE(fs::exists(directory / "out"));
}

TEST_CASE("pack: splits are datasets of their own that share one class list") {
  const TemporaryDirectory directory;
  make_folder(directory / "source/train", 3, 4);
  make_folder(directory / "source/val", 2, 2);
  put(directory / "source/val/d/1.pgm", tiny_image(77));
  PackOptions options = pack_options("wds");
  options.list.allow_odd_classes = true;  // train has no class d
  const PackReport report = pack(directory / "source", directory / "out", options);
  REQUIRE(report.splits.size() == 2);
  const PackedDataset train(directory / "out/train"), val(directory / "out/val");
  CHECK(train.classes() == std::vector<std::string>{"c0", "c1", "c2", "d"});
  CHECK(val.classes() == train.classes());
  CHECK(train.manifest().class_samples == std::vector<std::uint64_t>{4, 4, 4, 0});
  CHECK(val.manifest().class_samples == std::vector<std::uint64_t>{2, 2, 0, 1});
  CHECK(report.id != train.manifest().id());
}

TEST_CASE("pack: the rejects of a split name the split") {
  const TemporaryDirectory directory;
  make_folder(directory / "source/train", 2, 4);
  put(directory / "source/val/c0/x.jpg", "not an image");
  const PackReport report = pack(directory / "source", directory / "out", pack_options("wds"));
  REQUIRE(report.rejects.size() == 1);
  CHECK(report.rejects[0].path == "val/c0/x.jpg");
}

TEST_CASE("pack: class folders that are doubtful are refused, unless they are said to be meant") {
  const TemporaryDirectory directory;
  put(directory / "source/images/1.pgm", tiny_image(1));
  put(directory / "source/masks/1.pgm", tiny_image(2));
  PackOptions options{.format = "wds"};
  const auto packs = [&] { return pack(directory / "source", directory / "out", options); };
  CHECK(kind_of_error(packs) == ErrorKind::kUsage);
  CHECK_FALSE(fs::exists(directory / "out"));
  CHECK_FALSE(fs::exists(directory / "out.partial"));
  options.list.allow_odd_classes = true;
  CHECK(packs().classes == std::vector<std::string>{"images", "masks"});
}

TEST_CASE("pack: a URL is no target") {
  const PackPlace place;
  CHECK(kind_of_error([&] { pack(place.source, "s3://bucket/x", place.options); }) ==
        ErrorKind::kUsage);
  CHECK_FALSE(fs::exists("s3:"));
}

TEST_CASE("pack: a given class list pins the labels") {
  PackPlace place;
  place.options.list.classes = {"new", "c2", "c1", "c0"};
  place.pack();
  const PackedDataset dataset(place.out);
  CHECK(dataset.classes() == place.options.list.classes);
  CHECK(dataset.manifest().class_samples == std::vector<std::uint64_t>{0, 10, 10, 10});
}

TEST_CASE("pack: a class name with a line break is refused before any work") {
  PackPlace place;
  put(place.source / "line\nbreak/1.pgm", tiny_image(1));
  CHECK(kind_of_error([&] { place.pack(); }) == ErrorKind::kUsage);
  CHECK_FALSE(fs::exists(place.partial));
}

TEST_CASE("pack: options that make no sense are refused") {
  const auto changes = {+[](PackOptions& options) { options.format.clear(); },
                        +[](PackOptions& options) { options.format = "zip"; },
                        +[](PackOptions& options) { options.image = "zip"; },
                        +[](PackOptions& options) { options.jobs = -1; },
                        +[](PackOptions& options) { options.limits.pixels = 0; }};
  for (const auto& change : changes) {
    PackPlace place;
    change(place.options);
    CHECK(kind_of_error([&] { place.pack(); }) == ErrorKind::kUsage);
  }
}

TEST_CASE("pack: a stop that was requested interrupts, and the next run goes on") {
  const PackPlace place;
  std::stop_source stop;
  stop.request_stop();
  CHECK(kind_of_error([&] {
          pack(place.source, place.out, place.options, nullptr, stop.get_token());
        }) == ErrorKind::kInterrupted);
  CHECK_FALSE(fs::exists(place.out));
  CHECK(place.pack().published);
  CHECK(tree(place.out) == fresh_tree(place));
}

TEST_CASE("pack: progress ends at the totals") {
  const PackPlace place;
  Progress progress;
  const PackReport report = pack(place.source, place.out, place.options, &progress);
  CHECK(progress.total_samples == 30);
  CHECK(progress.samples == 30);
  CHECK(progress.bytes == report.bytes_in);
  CHECK(progress.rejected == 0);
}

TEST_CASE("pack: an unreadable file is a reject") {
  if (::geteuid() == 0) {
    test::skipped("root may read everything");
    return;
  }
  PackPlace place;
  fs::permissions(place.source / "c0/0003.pgm", fs::perms::none);
  const PackReport report = place.pack();
  REQUIRE(report.rejects.size() == 1);
  CHECK(report.rejects[0].path == "c0/0003.pgm");
  fs::permissions(place.source / "c0/0003.pgm", fs::perms::owner_all);
  CHECK(place.pack().accounting.packed == 30);
}

TEST_CASE(
    "pack: a file that vanishes, changes its size or breaks after it was listed is a reject, and "
    "its shard is not "
    "kept") {
  const TemporaryDirectory directory;
  make_folder(directory / "source", 1, 6);
  const auto source = open_source(directory / "source");
  const Listing listing = source->list({});
  PlanOptions options;
  options.shuffle = false;
  const Plan plan(listing.splits[0].entries, options);
  const std::string changed = read_text(directory / "source/c0/0002.pgm");
  fs::remove(directory / "source/c0/0001.pgm");
  put(directory / "source/c0/0002.pgm", changed + "more");
  fs::create_directories(directory / "data");
  fs::create_directories(directory / "receipts");
  const PackOptions wds = pack_options("wds");
  const ShardJob job{*source, listing, listing.splits[0],  plan,
                     wds,     false,   directory / "data", directory / "receipts",
                     3,       nullptr};
  Progress progress;
  const ShardOutcome first = pack_shard(job, 0, progress);
  CHECK(first.record.samples == 4);
  REQUIRE(first.rejects.size() == 2);
  CHECK(first.rejects[0].path == "c0/0001.pgm");
  CHECK(first.rejects[1].path == "c0/0002.pgm");
  put(directory / "source/c0/0002.pgm", changed);
  const ShardOutcome second = pack_shard(job, 0, progress);
  CHECK_FALSE(second.kept);
  CHECK(second.record.samples == 5);
}

TEST_CASE("pack: what is no Error in a source reaches the caller, and nothing is published") {
  struct Failing final : Source {
    Listing list(const ListOptions&) override { return {}; }
    void read(const SplitListing&, std::size_t, Input&) const override { throw std::bad_alloc(); }
  };
  const TemporaryDirectory directory;
  Listing listing;
  listing.classes = {"c"};
  SplitListing& split = listing.splits.emplace_back();
  split.entries.add("c", "1.jpg", {.size = 1});
  const Plan plan(split.entries, {});
  const Failing source;
  const PackOptions wds{.format = "wds"};
  const ShardJob job{source,           listing,          split, plan,   wds, false,
                     directory.path(), directory.path(), 2,     nullptr};
  Progress progress;
  CHECK_THROWS_AS(pack_shard(job, 0, progress), std::bad_alloc);
  CHECK(fs::is_empty(directory.path()));
}

TEST_CASE(
    "pack: the estimate of the space is enough, and not many times too much for small samples") {
  for (const std::size_t bytes : {0u, 300u, 1000u, 1001u, 3000u}) {
    if (test::kEvery > 1 && bytes != 300) continue;
    const TemporaryDirectory directory;
    for (int i = 0; i < 2000; ++i)
      put(directory / ("in/c" + std::to_string(i % 2) + "/" + std::to_string(i) + ".pgm"),
          tiny_image(i, bytes));
    for (const Format* format : all_formats()) {
      CAPTURE(format->name);
      CAPTURE(bytes);
      PackOptions options = pack_options(std::string(format->name));
      options.plan.shard_samples = 1000;
      const PackReport report =
          pack(directory / "in", directory / std::string(format->name), options);
      CHECK(report.estimate >= report.bytes_out);
      if (bytes <= 1000) CHECK(report.estimate <= 8 * report.bytes_out);
    }
  }
}

}  // namespace packhorse
