#include "packhorse/dataset/manifest.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "support/support.h"

namespace packhorse {

namespace {

using test::kind_of_error;

Manifest example() {
  Manifest m;
  m.version = "0.1.0";
  m.format = "wds";
  m.format_version = 1;
  m.image = "original";
  m.split = "train";
  m.seed = 18446744073709551615u;
  m.shard_bytes = 1u << 20;
  m.samples = 5;
  m.payload_bytes = 500;
  m.class_samples = {2, 0, 3};
  m.accounting = {9, 5, 1, 3};
  m.skipped_by_rule = {{"hidden", 2}, {"odd \"rule\"", 1}};
  m.shards = {{"shard-000000.tar", "shard-000000.index", 3, 0, 300, 30, "aa", "bb"},
              {"shard-000001.tar", "shard-000001.index", 2, 3, 200, 20, "cc", "dd"}};
  m.files = {{"classes.txt", 12, "ee"}};
  return m;
}

/// Changes to everything in a manifest except its version, one at a time.
std::vector<std::function<void(Manifest&)>> changes() {
  return {[](Manifest& m) { m.format = "lmdb"; },
          [](Manifest& m) { ++m.format_version; },
          [](Manifest& m) { m.image = "x"; },
          [](Manifest& m) { m.split = ""; },
          [](Manifest& m) { m.shuffle = false; },
          [](Manifest& m) { --m.seed; },
          [](Manifest& m) { ++m.shard_bytes; },
          [](Manifest& m) { ++m.shard_samples; },
          [](Manifest& m) { ++m.payload_bytes; },
          [](Manifest& m) { ++m.class_samples[1]; },
          [](Manifest& m) { m.class_samples.push_back(0); },
          [](Manifest& m) { ++m.accounting.seen; },
          [](Manifest& m) { ++m.accounting.packed; },
          [](Manifest& m) { ++m.accounting.rejected; },
          [](Manifest& m) { ++m.accounting.skipped; },
          [](Manifest& m) { ++m.skipped_by_rule["hidden"]; },
          [](Manifest& m) { m.skipped_by_rule["another"] = 0; },
          [](Manifest& m) { m.shards[1].file = "x"; },
          [](Manifest& m) { m.shards[1].index = "x"; },
          [](Manifest& m) { ++m.shards[1].bytes; },
          [](Manifest& m) { ++m.shards[1].index_bytes; },
          [](Manifest& m) { m.shards[1].sha256 = "x"; },
          [](Manifest& m) { m.shards[1].index_sha256 = "x"; },
          [](Manifest& m) { m.files[0].file = "x"; },
          [](Manifest& m) { ++m.files[0].bytes; },
          [](Manifest& m) { m.files[0].sha256 = "x"; },
          [](Manifest& m) { m.files.clear(); }};
}

/// Changes after which the numbers of samples contradict each other.
std::vector<std::function<void(Manifest&)>> miscounts() {
  return {[](Manifest& m) { ++m.samples; }, [](Manifest& m) { ++m.shards[1].samples; },
          [](Manifest& m) { ++m.shards[1].first_sample; },
          [](Manifest& m) { m.shards.pop_back(); }};
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

ErrorKind kind_of(const std::string& text) {
  return kind_of_error([&] { Manifest::parse(text, "dataset.json"); });
}

}  // namespace

TEST_CASE("manifest: parsing and serialising gives the same bytes again") {
  const std::string text = example().serialise();
  const Manifest again = Manifest::parse(text, "dataset.json");
  CHECK(again.serialise() == text);
  CHECK(again.id() == example().id());
  CHECK(again.version == "0.1.0");
}

TEST_CASE("manifest: an empty one survives too") {
  const std::string text = Manifest{}.serialise();
  CHECK(Manifest::parse(text, "dataset.json").serialise() == text);
}

TEST_CASE("manifest: every field survives and is part of the id") {
  for (const auto& change : changes()) {
    Manifest changed = example();
    change(changed);
    CHECK(changed.id() != example().id());
    CHECK(changed.serialise() != example().serialise());
    CHECK(Manifest::parse(changed.serialise(), "dataset.json").id() == changed.id());
  }
}

TEST_CASE("manifest: numbers of samples that contradict each other are damage") {
  for (const auto& change : miscounts()) {
    Manifest changed = example();
    change(changed);
    CHECK(changed.id() != example().id());
    CHECK(kind_of(changed.serialise()) == ErrorKind::kCorrupt);
  }
}

TEST_CASE("manifest: a file that is named twice is damage, and is named") {
  const std::vector<std::pair<const char*, std::function<void(Manifest&)>>> twice = {
      {"'shard-000000.tar' twice", [](Manifest& m) { m.shards[1].file = m.shards[0].file; }},
      {"'shard-000000.tar' twice", [](Manifest& m) { m.shards[0].index = m.shards[0].file; }},
      {"'shard-000000.index' twice", [](Manifest& m) { m.shards[1].index = m.shards[0].index; }},
      {"'shard-000001.index' twice", [](Manifest& m) { m.files[0].file = m.shards[1].index; }},
      {"'classes.txt' twice", [](Manifest& m) { m.files.push_back(m.files[0]); }}};
  for (const auto& [says, change] : twice) {
    Manifest changed = example();
    change(changed);
    const std::string text = changed.serialise();
    CHECK(kind_of(text) == ErrorKind::kCorrupt);
    CHECK_THROWS_WITH_AS(Manifest::parse(text, "dataset.json"), doctest::Contains(says), Error);
  }
}

TEST_CASE("manifest: the version that wrote it is no part of the id") {
  Manifest other = example();
  other.version = "9.9.9";
  CHECK(other.id() == example().id());
  CHECK(other.serialise() != example().serialise());
}

TEST_CASE("manifest: its id is pinned, so that datasets keep theirs") {
  CHECK(example().id() == "f6c55a6a3a982286916ab8d3d02355a6fb8400bd9ef0d7cd38ffc83bd896f138");
}

TEST_CASE("manifest: a changed value is corrupt, as the id does not fit") {
  const std::string text = example().serialise();
  CHECK(kind_of(replaced(text, "\"samples\": 5", "\"samples\": 6")) == ErrorKind::kCorrupt);
  CHECK(kind_of(replaced(text, "\"split\": \"train\"", "\"split\": \"val\"")) ==
        ErrorKind::kCorrupt);
  CHECK(kind_of(replaced(text, example().id(), std::string(64, '0'))) == ErrorKind::kCorrupt);
}

TEST_CASE("manifest: what is no manifest is corrupt, with the path") {
  const std::string text = example().serialise();
  for (const std::string& damaged :
       {std::string(), std::string("{}"), std::string("[]"), std::string("null"), std::string("7"),
        std::string("{\"a\""), std::string("\0\0", 2), std::string("\xff\xfe"),
        std::string(100000, '['), text + "x", replaced(text, "\"samples\"", "\"simples\""),
        replaced(text, "\"samples\": 5", "\"samples\": \"5\""),
        replaced(text, "\"shards\": [", "\"shards\": [7,"),
        replaced(text, "\"train\"", "\"\xff\"")}) {
    CAPTURE(damaged.substr(0, 40));
    CHECK(kind_of(damaged) == ErrorKind::kCorrupt);
  }
}

TEST_CASE("manifest: cut anywhere, it is corrupt") {
  const std::string text = example().serialise();
  for (std::size_t size = 0; size + 1 < text.size(); ++size)
    CHECK(kind_of(text.substr(0, size)) == ErrorKind::kCorrupt);
}

TEST_CASE("manifest: no flipped byte gives a manifest with other content") {
  const std::string text = example().serialise();
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const int flip : {0x01, 0x10, 0x80}) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      try {
        const std::string id = Manifest::parse(damaged, "dataset.json").id();
        CHECK(id == example().id());
      } catch (const Error& error) {
        CHECK((error.kind() == ErrorKind::kCorrupt || error.kind() == ErrorKind::kUnsupported));
        CHECK(error.path() == "dataset.json");
      }
    }
  }
}

TEST_CASE("manifest: a count that is no whole number is damage, even if the id fits") {
  for (const char* count : {"-1", "5.0", "1e30", "true"}) {
    auto json = nlohmann::ordered_json::parse(
        replaced(example().serialise(), "\"samples\": 5", std::string("\"samples\": ") + count));
    json.erase("packhorse");
    json.erase("id");
    json["id"] = sha256(as_bytes(json.dump()));
    json["packhorse"] = "0.1.0";
    CAPTURE(count);
    try {
      Manifest::parse(json.dump(), "dataset.json");
      FAIL("it was taken");
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find("not whole") != std::string::npos);
    }
  }
}

TEST_CASE("manifest: a later manifest_version is unsupported, if the id fits") {
  const std::string later = test::as_later_version(example().serialise());
  CHECK(kind_of(later) == ErrorKind::kUnsupported);
  CHECK(kind_of(replaced(later, "\"samples\": 5", "\"samples\": 6")) == ErrorKind::kCorrupt);
}

TEST_CASE("manifest: a changed manifest_version alone is damage") {
  CHECK(kind_of(replaced(example().serialise(), "\"manifest_version\": 1",
                         "\"manifest_version\": 2")) == ErrorKind::kCorrupt);
}

TEST_CASE("manifest: load() reads dataset.json, and says when there is none") {
  const test::TemporaryDirectory directory;
  CHECK(kind_of_error([&] { Manifest::load(directory.path()); }) == ErrorKind::kNotFound);
  test::put(directory / "dataset.json", example().serialise());
  CHECK(Manifest::load(directory.path()).id() == example().id());
}

TEST_CASE(
    "manifest: SHA256SUMS has a line for every file and for dataset.json, as sha256sum writes "
    "them") {
  CHECK(
      example().sums() ==
      "aa  shard-000000.tar\nbb  shard-000000.index\ncc  shard-000001.tar\ndd  shard-000001.index\n"
      "ee  classes.txt\n" +
          sha256(as_bytes(example().serialise())) + "  dataset.json\n");
}

}  // namespace packhorse
