// Tests of walks in other processes, here with programs that misbehave.
#include <algorithm>
#include <array>

#include "base/file.h"
#include "packhorse/verify/verify.h"
#include "packhorse/walkers/walkers.h"
#include "support/made_dataset.h"
#include "support/pictures.h"
#include "support/support.h"
#include "verify/shard.h"
#include "walkers/walk_protocol.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::flip_byte;
using test::kind_of_error;
using test::MadeDataset;
using test::Row;
using test::TemporaryDirectory;

/// A dataset of six samples in two shards.
struct PackedShards {
  TemporaryDirectory directory;
  fs::path path = directory / "out";

  PackedShards() {
    MadeDataset dataset;
    for (int i = 0; i < 6; ++i) {
      Row row;
      row.key = key_of(static_cast<std::uint64_t>(i));
      row.bytes = "image " + std::to_string(i);
      dataset.rows.push_back(row);
    }
    dataset.write(path);
  }

  /// Verifies with a shell script in place of the walking process.
  VerifyReport verify_with(const std::string& script, double wall_s = 20,
                           bool decode = false) const {
    VerifyOptions options;
    options.decode = decode;
    options.jobs = decode ? 1 : 2;
    options.level = VerifyLevel::kFull;
    options.walkers = make_walkers({"/bin/sh", "-c", script});
    options.limits.wall_s = wall_s;
    return verify(path, options);
  }
};

const std::string kDone =
    R"(while read task; do echo '{"end": "done", "signal": 0, "row": 2, "detail": ""}'; done)";

/// A script that answers each task with a line.
std::string answer(const std::string& line) {
  return "while read task; do echo '" + line + "'; done";
}

}  // namespace

TEST_CASE("verify walk: shards are walked by the process, each once") {
  const PackedShards packed;
  const VerifyReport report = packed.verify_with(kDone);
  CHECK(report.ok());
  CHECK(report.isolated);
  CHECK(report.walked == 2);
}

TEST_CASE("verify walk: without a process whole shards are walked here, and damaged ones are not") {
  const PackedShards packed;
  VerifyOptions options;
  options.level = VerifyLevel::kFull;
  const VerifyReport whole = verify(packed.path, options);
  CHECK(whole.ok());
  CHECK_FALSE(whole.isolated);
  CHECK(whole.walked == 2);
  CHECK(whole.notes.empty());
  flip_byte(packed.path / "shard-1.tar", 600);
  const VerifyReport damaged = verify(packed.path, options);
  CHECK(damaged.walked == 1);
  REQUIRE(damaged.notes.size() == 1);
  CHECK(damaged.notes[0].starts_with("damaged shards whose structure was not checked: 1"));
}

TEST_CASE("verify walk: findings of the process get the sample's number, key and place") {
  const PackedShards packed;
  const VerifyReport report = packed.verify_with(
      R"(while read task; do echo '{"finding": {"kind": "structure", "row": 1, "about_bytes": false, )"
      R"("detail": "odd"}}'; echo '{"end": "done", "signal": 0, "row": 2, "detail": ""}'; done)");
  REQUIRE(report.findings.size() == 2);
  const Finding& second = report.findings[1];
  CHECK(second.kind == FindingKind::kStructure);
  CHECK(second.shard == "shard-1.tar");
  CHECK(second.sample == 5);
  CHECK(second.key == "000000005");
  CHECK(second.length == 7);
  CHECK(second.detail == "odd");
}

TEST_CASE("verify walk: a crash, a limit or a death is a finding that names shard and sample") {
  const std::pair<std::string, std::string> ends[] = {
      {answer(R"({"end": "crashed", "signal": 11, "row": 1, "detail": ""})"), "crashed on it"},
      {answer(R"({"end": "time", "signal": 0, "row": 1, "detail": ""})"), "in time"},
      {answer(R"({"end": "memory", "signal": 0, "row": 1, "detail": ""})"), "too much memory"},
      {answer(R"({"end": "failed", "signal": 0, "row": 1, "detail": "why"})"), "checked: why"},
      {"read task; kill -SEGV $$", "crashed on it (Segmentation fault)"},
      {"read task; exit 0", "the process that checked it ended"},
      {"exit 0", "the process that checked it ended"},
  };
  for (const auto& [script, words] : ends) {
    CAPTURE(script);
    const PackedShards packed;
    const VerifyReport report = packed.verify_with(script);
    REQUIRE(report.findings.size() == 2);
    for (const int shard : {0, 1}) {
      const Finding& finding = report.findings[static_cast<std::size_t>(shard)];
      CHECK(finding.kind == FindingKind::kStructure);
      CHECK(finding.shard == "shard-" + std::to_string(shard) + ".tar");
      CHECK(finding.detail.find(words) != std::string::npos);
      if (script.starts_with("while")) CHECK(finding.sample == 4 * shard + 1);
    }
  }
}

TEST_CASE("verify walk: a process that hangs is ended, and that is a finding") {
  const PackedShards packed;
  const VerifyReport report = packed.verify_with("read task; sleep 1000; echo", 0.2);
  REQUIRE(report.findings.size() == 2);
  CHECK(report.findings[0].detail.find("in time") != std::string::npos);
}

TEST_CASE("verify walk: what is no line of the protocol is passed over") {
  const PackedShards packed;
  CHECK(
      packed
          .verify_with("while read task; do echo; echo '{}'; echo '[1'; echo '{\"end\": 3}'; echo "
                       "'{\"end\": \"done\", \"signal\": 0, \"row\": 2, \"detail\": \"\"}'; done")
          .ok());
}

TEST_CASE("verify walk: a dataset that is replaced meanwhile is not judged") {
  const PackedShards packed, other;
  const std::string out = packed.path.string();
  const std::string swap = "mv -T " + out + " " + out + ".before && mv -T " + other.path.string() +
                           " " + out + " || true";
  const std::string edit = "echo >> " + out + "/dataset.json";
  for (const std::string& change : {swap, edit}) {
    CAPTURE(change);
    try {
      static_cast<void>(packed.verify_with("(" + change + ") 2>/dev/null; " + kDone));
      FAIL("it was judged");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kIo);
      CHECK(std::string(error.what()).find("replaced") != std::string::npos);
    }
  }
}

TEST_CASE("verify walk: a program that is not there is an Error, not damage") {
  const PackedShards packed;
  VerifyOptions options;
  options.level = VerifyLevel::kFull;
  options.walkers = make_walkers({"/nowhere/at/all"});
  CHECK(kind_of_error([&] { verify(packed.path, options); }) == ErrorKind::kNotFound);
}

TEST_CASE("verify walk: that other bytes come out where other bytes are in is said once") {
  const PackedShards packed;
  flip_byte(packed.path / "shard-0.tar", 512);  // in the first image
  const VerifyReport report = packed.verify_with(
      R"(while read task; do echo '{"finding": {"kind": "structure", "row": 0, "about_bytes": true, )"
      R"("detail": "bytes"}}'; echo '{"end": "done", "signal": 0, "row": 2, "detail": ""}'; done)");
  REQUIRE(report.findings.size() == 2);  // the other shard's first image is not damaged
  CHECK(report.findings[0].kind == FindingKind::kPayload);
  CHECK(report.findings[1].shard == "shard-1.tar");
}

/// The answers to a task about images, in turn: an image that crashes the decoder, one that cannot
/// be decoded, and the end. Walks of structures finish at once.
const std::string kBadDecoder = R"sh(
at() { echo "$task" | sed 's/.*"first":\([0-9]*\),.*/\1/'; }
while read task; do
  case "$task" in
    *'"kind":"decode"'*)
      if [ "$(at)" = 0 ]; then
        echo '{"end": "crashed", "signal": 11, "row": 1, "detail": ""}'
      else
        echo '{"finding": {"kind": "decode", "row": 3, "about_bytes": false, "detail": "odd"}}'
        echo '{"end": "done", "signal": 0, "row": 3, "detail": ""}'
      fi;;
    *) echo '{"end": "done", "signal": 0, "row": 2, "detail": ""}';;
  esac
done)sh";

TEST_CASE("verify walk: images behind one that ends the walk are decoded, and only those counted") {
  const PackedShards packed;
  const VerifyReport report = packed.verify_with(kBadDecoder, 20, /*decode=*/true);
  REQUIRE(report.findings.size() == 3);  // the second shard has two images only
  CHECK(report.findings[0].sample == 1);
  CHECK(report.findings[0].detail.find("crashed") != std::string::npos);
  CHECK(report.findings[1].sample == 3);
  CHECK(report.findings[2].sample == 5);
  CHECK(report.decoded == 3);  // 0, 2 and 4
}

TEST_CASE("verify walk: a process that ends before the first image has decoded none") {
  const PackedShards packed;
  const std::string script =
      "while read task; do case \"$task\" in *decode*) exit 0;; *) echo '{\"end\": \"done\", "
      "\"signal\": 0, \"row\": 2, \"detail\": \"\"}';; esac; done";
  const VerifyReport report = packed.verify_with(script, 20, /*decode=*/true);
  CHECK(report.findings.size() == 2);
  CHECK(report.decoded == 0);
}

TEST_CASE("verify walk: what a failed walk says at its end is not taken for the next one's") {
  const PackedShards packed;
  const VerifyReport report = packed.verify_with(
      "while read task; do echo '{\"end\": \"failed\", \"signal\": 0, \"row\": 0, \"detail\": "
      "\"why\"}'; echo '{\"end\": \"failed\", \"signal\": 0, \"row\": 0, \"detail\": "
      "\"it ended by itself\"}'; done");
  REQUIRE(report.findings.size() == 2);
  for (const Finding& finding : report.findings)
    CHECK(finding.detail.find("why") != std::string::npos);
}

TEST_CASE("verify decode: an image of any error is a finding of its own, and no other is missed") {
  const TemporaryDirectory directory;
  MadeDataset dataset;
  dataset.shard_samples = 6;
  const std::string good(as_text(test::make_jpeg(test::make_picture(10, 10))));
  const std::string progressive(
      as_text(test::make_jpeg(test::make_picture(10, 10), {.progressive = true})));
  const std::string files[] = {
      good, "no image", good, std::string(as_text(test::make_float_tiff())), progressive, good};
  for (std::size_t i = 0; i < 6; ++i) dataset.rows.push_back({key_of(i), 0, files[i]});
  dataset.rows[3].image = {ImageKind::kTiff, 1, 32, 1, 2, 1};
  dataset.write(directory / "out");
  VerifyOptions options;
  options.level = VerifyLevel::kFull;
  options.decode = true;
  options.image_limits.scan_pixels = 999;
  const VerifyReport report = verify(directory / "out", options);
  CHECK(report.decoded == 4);  // what is no colours, too
  REQUIRE(report.findings.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(report.findings[i].kind == std::array{FindingKind::kDecode, FindingKind::kLimit}[i]);
    CHECK(report.findings[i].sample == std::array{1, 4}[i]);
  }
  CHECK(report.findings[1].detail.find("--max-scan-pixels") != std::string::npos);
}

TEST_CASE(
    "verify: an index that describes an image otherwise is found, once, whatever else is done") {
  const TemporaryDirectory directory;
  MadeDataset dataset;
  const std::string good(as_text(test::make_jpeg(test::make_picture(10, 10))));
  for (std::uint64_t i = 0; i < 3; ++i) dataset.rows.push_back({key_of(i), 0, good});
  dataset.rows[1].image.orientation = 6;
  dataset.write(directory / "out");
  for (const bool decode : {false, true}) {
    VerifyOptions options;
    options.level = VerifyLevel::kFull;
    options.decode = decode;
    const VerifyReport report = verify(directory / "out", options);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::kDescription);
    CHECK(report.findings[0].sample == 1);
    CHECK(report.findings[0].detail.find("orientation 1, and its index") != std::string::npos);
    CHECK(report.decoded == (decode ? 2 : 0));
  }
}

TEST_CASE("verify walk: what the system refuses to read is no damage of an image") {
  const TemporaryDirectory directory;
  MadeDataset dataset;
  dataset.rows.push_back({key_of(0), 0, "image"});
  dataset.write(directory / "out");
  std::vector<WalkFinding> found;
  WalkTask task;
  task.kind = WalkTask::Kind::kDecode;
  task.index = directory / "out/shard-0.index";
  for (const char* const unreadable : {"/proc/self/mem", "/nowhere/at/all"}) {
    task.data = unreadable;
    std::atomic<std::int64_t> row{-1};
    walk(task, row, [&](const WalkFinding& finding) { found.push_back(finding); });
  }
  REQUIRE(found.size() == 2);
  CHECK(found[0].kind == FindingKind::kRead);
  CHECK(found[0].row == 0);
  CHECK(found[1].kind == FindingKind::kRead);
  CHECK(found[1].row == -1);
}

TEST_CASE("verify: a finding says who wrote the file") {
  const TemporaryDirectory directory;
  MadeDataset dataset;
  dataset.rows.push_back({key_of(0), 0, "image"});
  dataset.write(directory / "out");
  test::truncate(directory / "out/shard-0.tar", 600);
  test::truncate(directory / "out/classes.txt", 1);
  const auto writer_of = [&](const std::string& file) {
    for (const Finding& finding : verify(directory / "out", {}).findings)
      if (finding.shard == file) return finding.writer;
    throw Error(ErrorKind::kNotFound, file);
  };
  CHECK(writer_of("shard-0.tar") == Finding::Writer::kPack);
  test::edit_manifest(directory / "out", [](Manifest& manifest) {
    manifest.adopted = {"webdataset", "shards", false, {}};
  });
  CHECK(writer_of("shard-0.tar") == Finding::Writer::kOthers);
  CHECK(writer_of("classes.txt") == Finding::Writer::kIndex);
}

TEST_CASE("walk protocol: tasks keep paths of any bytes") {
  WalkTask task;
  task.kind = WalkTask::Kind::kDecode;
  task.format = "wds";
  task.data = fs::path("a\n\xff b");
  task.index = fs::path("i");
  task.first = 7;
  task.rows = 9;
  task.limits = {1, 2, 3};
  const auto again = parse_task(task_line(task, {3, 5}));
  REQUIRE(again);
  CHECK(again->first.kind == task.kind);
  CHECK(again->first.data == task.data);
  CHECK(again->first.index == task.index);
  CHECK(again->first.first == 7);
  CHECK(again->first.rows == 9);
  CHECK(again->first.limits.pixels == 1);
  CHECK(again->first.limits.scan_pixels == 2);
  CHECK(again->first.limits.decoded_bytes == 3);
  CHECK(again->second.cpu_s == 3);
  CHECK(again->second.memory_bytes == 5);
  CHECK_FALSE(parse_task("{}"));
}

TEST_CASE("walk protocol: tasks keep what is to be described of a shard") {
  WalkTask task;
  task.kind = WalkTask::Kind::kDescribe;
  task.foreign.arrays = {"a", "", "c\xff", "d"};
  const auto again = parse_task(task_line(task, {}));
  REQUIRE(again);
  CHECK(again->first.kind == task.kind);
  CHECK(again->first.foreign.arrays == task.foreign.arrays);
  CHECK_FALSE(again->first.foreign.fields.names);
  for (const std::vector<std::string>& names : {std::vector<std::string>{}, {"json", "\xff"}}) {
    task.foreign.fields.names = names;
    CHECK(parse_task(task_line(task, {}))->first.foreign.fields.names == names);
  }
}

TEST_CASE("verify part: is I/N with I below N") {
  CHECK(VerifyPart::parse("3/10").index == 3);
  CHECK(VerifyPart::parse("3/10").count == 10);
  for (const char* text : {"", "1", "1/", "/2", "2/2", "-1/2", "1/2x", "1/99999999"})
    CHECK(kind_of_error([&] { VerifyPart::parse(text); }) == ErrorKind::kUsage);
}

}  // namespace packhorse
